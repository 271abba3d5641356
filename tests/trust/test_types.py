"""Types: what a type checker is told of the public names, and that it is what Python finds.

``mypy --strict typed_program.py`` itself runs in ``.ci/run``.
"""
import ast
import inspect
import os
import runpy

import pytest

import graphgrad as gg
from graphgrad.registry import gradients

HERE = os.path.dirname(os.path.abspath(__file__))
STUB = os.path.join(os.path.dirname(os.path.abspath(gg.__file__)), "__init__.pyi")


def test_the_stub_lists_what_the_face_hands_on():
    """Each name is imported in __init__.pyi from the module where __init__.py finds it; nothing else is."""
    with open(STUB, encoding="utf-8") as stream:
        imports = [node for node in ast.parse(stream.read()).body if isinstance(node, ast.ImportFrom)]
    listed = {}
    for node in imports:
        for alias in node.names:
            assert alias.asname == alias.name, "mypy takes a name as public only when it is written 'X as X'"
            listed[alias.name] = node.module
    assert listed == dict({name: None for name in gg._MODULES}, **gg._HOME)


def public():
    """(name, callable) of what users call: functions, classes, and their public methods."""
    places = [("", gg, gg._HOME)] + [(name + ".", getattr(gg, name), getattr(gg, name).__all__)
                                     for name in ("golden", "rules", "saliency")]
    places.append(("ops.", gg.ops, [name for name, value in vars(gg.ops).items() if inspect.isfunction(value)
                                    and value.__module__ == "graphgrad.ops" and not name.startswith("_")]))
    for prefix, module, names in places:
        for name in names:
            value = getattr(module, name)
            yield prefix + name, value
            if inspect.isclass(value) and not issubclass(value, BaseException):
                for attribute, method in vars(value).items():
                    if attribute in ("__init__", "__call__", "__enter__", "__exit__", "__getitem__", "__iter__") or (
                            not attribute.startswith("_") and attribute not in INNER):
                        yield "{}{}.{}".format(prefix, name, attribute), method


#: Methods that users read of, in Method's docstring, but that the classes call among themselves.
INNER = ("goes_through", "build", "job", "differentiate", "stacks", "finish", "combine", "fold", "note", "log_for",
         "choice_for", "choices", "reported", "tell", "tell_unmatched", "add")
#: Written so that Python 2.7 reads it too.
UNTYPED = ("golden.unrecorded",)


@pytest.mark.parametrize("name, value", [pytest.param(*one, id=one[0]) for one in public()])
def test_every_public_signature_has_types(name, value):
    """All parameters and the result: a strict checker refuses calls of a function of which one is missing."""
    value = value.fget if isinstance(value, property) else value
    if inspect.isclass(value) or not inspect.isfunction(value) or name in UNTYPED:
        return
    if any(record.function is value for record in map(gradients.get, gradients)):
        return   # a rule, to which gradient_rule gives its type
    signature = inspect.signature(value)
    untyped = [one for one in signature.parameters if signature.parameters[one].annotation is inspect.Parameter.empty]
    assert set(untyped) <= {"self"}, name
    assert signature.return_annotation is not inspect.Signature.empty, name


def test_the_typed_program_runs(capsys):
    """What passes the type checker is right."""
    runpy.run_path(os.path.join(HERE, "typed_program.py"), run_name="__main__")
    assert "Relu ['Relu', 'Relu_1'] " in capsys.readouterr().out
