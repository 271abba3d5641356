"""graphgrad run is python: arguments, __main__, stdin, status, packages, threads, children, notebooks; and bad input."""
import json
import os
import textwrap

import pytest
from conftest import TF1

from graphgrad.errors import UsageError
from graphgrad.legacy import notebooks
from graphgrad.legacy.runner import check_script
from tests.legacy.conftest import graphgrad, python

PACKAGE = {
    "old/__init__.py": "",
    "old/sibling.py": "import tensorflow as tf\nfrom . import deeper\nplaceholder = tf.placeholder\n",
    "old/deeper.py": "from tensorflow.contrib import slim\nimport tensorflow.compat.v1 as tf1\nimport tensorflow as tf\n"
                     "same = tf.placeholder is tf1.placeholder and tf.layers.dense is tf1.layers.dense\n",
    "old/__main__.py": """
        from __future__ import print_function
        import subprocess, sys, threading
        import tensorflow as tf
        import importlib
        from .sibling import placeholder, deeper
        flags = tf.app.flags
        flags.DEFINE_float("rate", 0.5, "")
        flags.DEFINE_boolean("fast", False, "")

        class Kept(object):
            pass

        def main(argv):
            print("argv", argv[1:], flags.FLAGS.rate, flags.FLAGS.fast, __name__, __package__, __spec__.name)
            print("stdin", sys.stdin.read().strip())
            print("main", sys.modules["__main__"].Kept is Kept, deeper.same, placeholder is tf.placeholder)
            print("import_module", importlib.import_module("tensorflow").placeholder is tf.placeholder)
            seen = []
            thread = threading.Thread(target=lambda: seen.append(__import__("tensorflow").placeholder))
            thread.start(); thread.join()
            print("thread", seen[0] is tf.placeholder)
            child = "import tensorflow as tf; print('child', tf.placeholder(tf.float32, [2]).shape, tf.executing_eagerly())"
            sys.stdout.flush()
            print(subprocess.check_output([sys.executable, "-W", "ignore", "-c", child]).decode().strip())
            sys.exit(7)

        if __name__ == "__main__":
            tf.app.run()
    """,
}


@pytest.fixture(scope="module")
def module_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    for name, text in PACKAGE.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return graphgrad("run", "-m", "old", "--rate=0.25", "positional", "--fast", cwd=str(folder), input="typed\n")


@pytest.mark.parametrize("line", [
    "argv ['positional'] 0.25 True __main__ old old.__main__", "stdin typed", "main True True True", "import_module True",
    "thread True", "child (2,) False"])
def test_a_package_runs_as_with_python(module_run, line):
    """-m, tf.app.run and flags, stdin, relative imports, __main__, threads; children see the same."""
    assert line in module_run.stdout.splitlines(), module_run.stdout + module_run.stderr


def test_its_exit_status_is_kept(module_run):
    """sys.exit(7) in main() is 7."""
    assert module_run.returncode == 7


def test_a_traceback_begins_in_the_script(run_in_module_folder):
    """As with python: the script's frames, none of ours; status 1. Without TensorFlow none is imported."""
    done = run_in_module_folder("fails.py", "import sys\ndef f():\n    raise KeyError('x', 'tensorflow' in sys.modules)\nf()\n")
    assert done.returncode == 1
    assert "graphgrad" not in done.stderr and done.stderr.count("File ") == 2
    assert done.stderr.splitlines()[-1] == "KeyError: ('x', False)"


@pytest.mark.parametrize("arguments, text", [
    (["-m", "no_such_module"], "There is no module no_such_module"), (["--json", "no/such/x.json", "x.py"], "The folder of"),
    (["nothing.py", "--flag"], "There is no script nothing.py")])
def test_nothing_to_run(arguments, text, tmp_path):
    """One sentence, status 2."""
    done = graphgrad("run", *arguments, cwd=str(tmp_path))
    assert done.returncode == 2 and text in done.stderr and len(done.stderr.splitlines()) == 1


PYTHON_2 = """# -*- coding: latin-1 -*-
import cPickle, Queue
from StringIO import StringIO
import sys
class Old:
    def next(self):
        return 'next'
try:
    raise ValueError, "said"
except (KeyError, ValueError), error:
    print "caught", error, 7 / 2, 7.0 / 2, 0777, 10L,
    print `3`, 1 <> 2
print >>sys.stderr, "to stderr"
d = {'b': 1}
print d.keys()[0], d.has_key('b'), [k for k, v in d.iteritems()], map(lambda x: x + 1, range(3)), Old().next()
for i in xrange(2): print i,
print
x = 7; x /= 2; print x, u'text', isinstance(u'', basestring), unicode(3), sorted([3, 1], cmp=lambda a, b: cmp(b, a))
exec "y = 5"
print y, "%d%%" % 5; print("both", "of them")
"""


@pytest.fixture(scope="module")
def python_2_run(run_in_module_folder):
    (run_in_module_folder.folder / "helper2.py").write_text("print 'helper', 1 / 2\n")
    return run_in_module_folder("old2.py", PYTHON_2 + "import helper2\n")


def test_python_2_is_translated(python_2_run):
    """What Python 2.7 prints for this script, with the division it had."""
    assert python_2_run.stdout.splitlines() == [
        "caught said 3 3.5 511 10 3 True", "b True ['b'] [1, 2, 3] next", "0 1 ", "3 text True 3 [3, 1]", "5 5%",
        "('both', 'of them')", "helper 0"], python_2_run.stderr


def test_it_is_announced_and_leaves_nothing(python_2_run, run_in_module_folder):
    """Each file once on stderr; no bytecode of a translated module is left behind."""
    told = [line for line in python_2_run.stderr.splitlines() if "is Python 2; translated in memory" in line]
    assert len(told) == 2 and "to stderr" in python_2_run.stderr
    cache = run_in_module_folder.folder / "__pycache__"
    assert not cache.exists() or not [name for name in os.listdir(str(cache)) if "helper2" in name]


def test_no_py2(run_in_module_folder):
    """--no-py2 refuses."""
    done = run_in_module_folder("refused.py", "print 'x'\n", options=["--no-py2"])
    assert done.returncode == 2 and "is not a Python 3 script" in done.stderr


def notebook(*cells):
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "text"}] + [
        {"cell_type": "code", "source": cell.splitlines(True)} for cell in cells]})


def test_a_notebook_is_a_script(run_in_module_folder):
    """Cells in order, IPython's own lines left out."""
    done = run_in_module_folder("book.ipynb", notebook(
        "%matplotlib inline\nx = 1", "!pip install something\nif x:\n    %time x += 1", "%%bash\necho no", "print(x)"))
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize("text, sentence", [
    ("{}", "is not a notebook"), ("not json", "is not a notebook"), (notebook(""), "holds no code")])
def test_what_is_no_notebook(text, sentence):
    """One sentence."""
    with pytest.raises(UsageError, match=sentence):
        notebooks.source_of(text.encode(), "x.ipynb")


def test_check_script_says_both(tmp_path):
    """What is neither Python 3 nor 2 is told with both reasons."""
    path = tmp_path / "x.py"
    path.write_text("this is no Python\n")
    with pytest.raises(UsageError, match=r"is not a Python 3 script: .* Nor is it Python 2: .* \(line 1\)"):
        check_script(str(path))


STATE = """
import builtins, importlib, json, os, sys, warnings
import {first} as first
from graphgrad.legacy import activate, deactivate
from graphgrad.legacy.catalogue import NOTES
import collections
def state():
    got = {{"import": builtins.__import__, "import_module": importlib.import_module, "environment": dict(os.environ),
           "path": list(sys.path), "finders": list(sys.meta_path), "filters": list(warnings.filters),
           "contrib": [n for n in sys.modules if "contrib" in n and n.startswith("tensorflow")],
           "collections": "__getattr__" in vars(collections)}}
    if "tensorflow" in sys.modules:
        import tensorflow
        v1 = tensorflow.compat.v1
        from tensorflow.python.framework import ops, random_seed
        got.update(tf=tensorflow, concat=v1.concat, mul=hasattr(v1, "mul"), register=ops.RegisterGradient,
                   map=ops.Graph.gradient_override_map, seed=random_seed.get_seed, layers=id(v1.layers),
                   dropout=v1.nn.dropout)
    return got
import tensorflow   # so that both states have it
before = state()
activate()
during = state()
import tensorflow as tf
used = [tf.mul, tf.layers, tf.placeholder] + ([] if tf.__version__.startswith("1.") else [tf.contrib.slim, tf.contrib.slim.conv2d])
notes = list(NOTES)
activate()
deactivate()
after = state()
print(json.dumps({{"left": sorted(key for key in before if before[key] != after.get(key)),
                  "changed": sorted(key for key in before if before[key] != during[key]), "notes": notes}}))
"""


@pytest.fixture(scope="module")
def states():
    done = python("-W", "ignore", "-c", STATE.format(first="tensorflow"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_deactivate_leaves_nothing(states):
    """Imports, modules, environment, paths, filters and TensorFlow's functions are what they were."""
    assert states["left"] == []
    assert {"import", "environment", "register", "map"} <= set(states["changed"])


@pytest.mark.skipif(TF1, reason="TF 1.15 is the old TensorFlow: nothing is mistaken")
def test_tensorflow_imported_before_us_is_told(states):
    """The modules that hold TensorFlow 2 are named."""
    assert states["notes"] and "TensorFlow was imported before" in states["notes"][0] and "__main__" in states["notes"][0]


def test_an_old_projects_own_tests_run(tmp_path):
    """python -m pytest -p graphgrad.legacy: conftest and tests see TensorFlow 1; what was supplied is in the summary."""
    (tmp_path / "conftest.py").write_text("import tensorflow as tf\nPLACEHOLDER = tf.placeholder\n")
    (tmp_path / "project.py").write_text("import tensorflow as tf\ndef net(x):\n    return tf.mul(x, x)\n")
    (tmp_path / "test_project.py").write_text(
        "import tensorflow as tf\nimport project\nclass T(tf.test.TestCase):\n    def test_net(self):\n"
        "        with self.test_session() as s:\n            assert s.run(project.net(tf.constant(3.))) == 9\n")
    done = python("-m", "pytest", "-q", "-p", "graphgrad.legacy", "-p", "no:cacheprovider", cwd=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "supplied tensorflow.mul (gone since TF 1.0): tf.multiply" in done.stdout
