"""What is public is documented: each parameter, each error that it raises, and where a formula comes from."""
import ast
import inspect
import re
import textwrap

import pytest

import graphgrad as gg
from graphgrad import catalogue

RULES = {entry.name: entry for entry in catalogue.read()}


def functions_of(module):
    return [name for name, value in vars(module).items() if inspect.isfunction(value)
            and value.__module__ == module.__name__ and not name.startswith("_")]


PUBLIC = {name: getattr(gg, name) for name in gg._HOME}
for _module, _names in (("golden", gg.golden.__all__), ("legacy", gg.legacy.__all__), ("ops", functions_of(gg.ops)),
                        ("rules", gg.rules.__all__), ("saliency", gg.saliency.__all__)):
    PUBLIC.update(("{}.{}".format(_module, name), getattr(getattr(gg, _module), name)) for name in _names)
PUBLIC = {name: value for name, value in PUBLIC.items() if callable(value)}
CALLED = {name: value for name, value in PUBLIC.items()
          if not (inspect.isclass(value) and issubclass(value, (Exception, gg.golden.GoldenTestCase)))}
CALLED.update({"Override.on": gg.Override.on, "Override.__call__": gg.Override.__call__,
               "saliency.Method.__call__": gg.saliency.Method.__call__,
               "golden.GoldenTestCase.assertMatchesGolden": gg.golden.GoldenTestCase.assertMatchesGolden})
#: Made by the package, not by its users: their attributes are documented instead.
MADE = ("golden.Recording", "golden.Comparison", "saliency.Model")
each_called = pytest.mark.parametrize("name", sorted(set(CALLED) - set(MADE)))


def text_of(name):
    """The docstring; of a rule what ``graphgrad rules NAME`` prints; of a subclass what it inherits too."""
    value = PUBLIC.get(name, CALLED.get(name))
    if name.startswith("rules."):
        return inspect.getdoc(value) + "\n" + RULES[name[len("rules."):]].doc
    if inspect.isclass(value):
        return "\n".join(inspect.cleandoc(one.__doc__) for one in value.__mro__[:-1] if one.__doc__)
    return inspect.getdoc(value)


def texts_of(name):
    """The docstring, and those of the public names that it mentions."""
    text = text_of(name)
    place = name.rpartition(".")[0]
    mentioned = {word for word in re.findall(r"[\w.]+\w", text)} - {name}
    return [text] + [text_of(other) for other in PUBLIC if other in mentioned or (
        place and other.rpartition(".")[0] == place and other.rpartition(".")[2] in mentioned - {"gradient"})]


@each_called
def test_every_parameter_is_documented(name):
    """By name, in the docstring or in that of a public name that it refers to."""
    parameters = inspect.signature(CALLED[name]).parameters
    text = "\n".join(texts_of(name))
    if name.startswith("rules."):
        # The notation of the library: op, and g for what comes in (relevance in the LRP rules).
        parameters = {} if gg.rules.__dict__[name[len("rules."):]] in rules_themselves() else parameters
    missing = [one for one in parameters if one != "self" and not re.search(r"\b{}\b".format(one), text)]
    assert not missing, "{} says nothing of {}".format(name, ", ".join(missing))


def rules_themselves():
    registry = gg.registry.gradients
    return [registry[one].function for one in registry]


@each_called
def test_every_error_is_documented(name):
    """What the function itself raises is named in its docstring, or there by its base."""
    value = CALLED[name].__init__ if inspect.isclass(CALLED[name]) else CALLED[name]
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value))))
    caught = {inner for node in ast.walk(tree) if isinstance(node, ast.Try) for part in node.body for inner in ast.walk(part)}
    raised = {node.exc.func.id for node in ast.walk(tree) if isinstance(node, ast.Raise) and node not in caught
              and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)}
    text = "\n".join(texts_of(name) + ([gg.rules.__doc__] if name.startswith("rules.") else []))
    assert all(error in text for error in raised), "{} does not say that it raises {}".format(name, sorted(raised))


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith(("ops.", "rules.", "saliency."))
                                  and name not in ("saliency.Method", "saliency.Model", "saliency.load")])
def test_every_formula_has_a_source(name):
    """A paper, a public codebase, or "here": never nothing. Possibly in the rule it is made of."""
    assert any(re.search(r"\bSource: \S", text) for text in texts_of(name)), name


def test_the_ready_functions_say_what_they_take():
    """That they take floating tensors, and keep dtype and shape, the module says for all."""
    head = " ".join(gg.ops.__doc__.split())
    assert "take floating tensors and return tensors of the same dtype (and shape, unless they say otherwise)" in head


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith("saliency.")])
def test_every_map_says_its_shape(name):
    """Method says the shapes and dtypes for all; a method whose map has another shape says which."""
    text = "\n".join(texts_of(name))
    assert re.search(r"\[batch|shape", text), name
