"""The house: who may touch TensorFlow's private parts, what importing does, what the sources may say."""
import ast
import importlib.util
import os
import subprocess
import sys

import pytest

import graphgrad

HOME = os.path.dirname(os.path.abspath(graphgrad.__file__))
ROOT = os.path.dirname(HOME)


def sources():
    for folder, _, names in os.walk(HOME):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as stream:
                    yield os.path.relpath(path, HOME).replace(os.sep, "/"), stream.read()


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module


def test_tensorflow_python_is_touched_in_one_room():
    """tensorflow.python is imported in _tf.py alone, in legacy/, and in the recorder, which stands by itself."""
    guests = [name for name, text in sources() if any(
        (module or "").startswith("tensorflow.") for module in imported(ast.parse(text)))]
    assert set(guests) <= {"_tf.py", "golden/recorder.py"} | {name for name in guests if name.startswith("legacy/")}
    assert "_tf.py" in guests


def test_core_needs_tensorflow_and_numpy_only():
    """Nothing else is imported that Python does not bring, but for optional imports inside functions of legacy/."""
    for name, text in sources():
        tree = ast.parse(text)
        nodes = tree.body if name.startswith("legacy/") else [tree]
        roots = {module.split(".")[0] for node in nodes for module in imported(node) if module}
        # pytest alone imports its plugin; a Keras file is looked into with what Keras reads it with.
        allowed = {"tensorflow", "numpy"} | {"golden/plugin.py": {"pytest"}, "saliency/keras_files.py": {"h5py"}}.get(
            name, set())
        assert {root for root in roots if not is_standard(root)} <= allowed, name


def is_standard(module):
    """Whether a module comes with Python."""
    if hasattr(sys, "stdlib_module_names"):   # Python 3.10 and later
        return module in sys.stdlib_module_names
    found = importlib.util.find_spec(module)
    return found is not None and (module in sys.builtin_module_names or "site-packages" not in (found.origin or ""))


def test_the_recorder_is_python_2_syntax():
    """No annotations, f-strings, keyword-only arguments, nonlocal or yield from in the file that runs on Python 2.7."""
    tree = ast.parse(dict(sources())["golden/recorder.py"])
    assert any(module == "__future__" for module in imported(tree))
    for node in ast.walk(tree):
        assert not isinstance(node, (ast.JoinedStr, ast.Nonlocal, ast.YieldFrom, ast.AnnAssign, ast.AsyncFunctionDef))
        if isinstance(node, ast.FunctionDef):
            assert not node.args.kwonlyargs and node.returns is None and not any(a.annotation for a in node.args.args)
        if isinstance(node, ast.Raise):
            assert node.cause is None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            assert node.args


def test_importing_changes_nothing():
    """import graphgrad imports no TensorFlow; using it registers no handler, no filter, and leaves TF's functions alone."""
    code = """
import logging, sys, warnings
import graphgrad
assert "tensorflow" not in sys.modules and "numpy" not in sys.modules
import tensorflow as tf
from tensorflow.python.eager import execute
from tensorflow.python.framework import ops
def state():
    return (execute.record_gradient, ops.get_gradient_function, ops.Graph.gradient_override_map, list(warnings.filters),
            logging.getLogger().handlers[:], tf.executing_eagerly())
before = state()
graphgrad.override_gradients, graphgrad.py_func_with_grad, graphgrad.rules, graphgrad.golden, graphgrad.legacy
assert state() == before
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()[-2000:]


def test_every_public_name_is_there_and_documented():
    """The face hands on what it lists, each with a docstring; another name is an AttributeError."""
    for name in graphgrad.__all__:
        assert getattr(graphgrad, name).__doc__, name
        assert name in dir(graphgrad)
    with pytest.raises(AttributeError, match="^module 'graphgrad' has no attribute 'nothing'$"):
        getattr(graphgrad, "nothing")  # noqa: B009 (the look-up is the test)
