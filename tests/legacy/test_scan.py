"""graphgrad scan: each class of hazards is found where it stands, and nowhere in clean code; no TensorFlow is imported."""
import json
import subprocess
import sys

import pytest

from graphgrad.errors import UsageError
from graphgrad.legacy.scan import CLASSES, as_json, as_sarif, diff, fixes, scan
from tests.legacy.conftest import ROOT, graphgrad

HEAD = "import tensorflow as tf\nimport numpy as np\n"
REGISTER = HEAD + "@tf.RegisterGradient('G')\ndef g(op, grad): return grad\n"
MAP = "with tf.get_default_graph().gradient_override_map({%s: 'G'}):\n    %s\n"

CASES = [
    ("GG01", REGISTER + MAP % ("'sign'", "y = tf.sign(x)"), 5, "'Sign' is meant"),
    ("GG01", REGISTER + MAP % ("'Matmul'", "y = 1"), 5, "'MatMul' is meant"),
    ("GG02", REGISTER + MAP % ("'Add'", "y = x + 1."), 5, "AddV2"),
    ("GG02", REGISTER + MAP % ("'FusedBatchNorm'", "y = 1"), 5, "FusedBatchNormV3"),
    ("GG03", HEAD + MAP % ("'Relu'", "y = 1"), 3, "'G' is not registered in what was scanned"),
    ("GG03", REGISTER + REGISTER, 7, "is registered at"),
    ("GG03", HEAD + "tf.RegisterGradient('F' + str(np.random.randint(0, 1E+8)))(f)\n", 3, "made at random"),
    ("GG04", REGISTER + MAP % ("'PyFunc'", "y = tf.py_func(f, [x], tf.float32, stateful=False)"), 6, "PyFuncStateless"),
    ("GG04", REGISTER + MAP % ("'PyFunc'", "y = tf.py_function(f, [x], tf.float32)"), 6, "EagerPyFunc"),
    ("GG05", REGISTER + MAP % ("'Relu'", "d = tf.gradients(y, x)"), 5, "open only around gradients"),
    ("GG05", REGISTER + MAP % ("'Relu'", "tf.import_graph_def(d)"), 5, "tagged anew"),
    ("GG06", REGISTER + MAP % ("'Identity'", "w = tf.get_variable('w', [2])"), 5, "variables are made under"),
    ("GG07", "from tensorflow.contrib import slim\n", 1, "tensorflow.contrib.slim is gone since TF 2.0"),
    ("GG07", "from tensorflow.python.ops import gen_nn_ops\ngen_nn_ops._relu_grad(a, b)\n", 2, "write relu_grad"),
    ("GG07", HEAD + "tf.mul(a, b)\n", 3, "write tf.multiply"), ("GG07", HEAD + "np.float\n", 3, "numpy.float is gone"),
    ("GG07", "from tensorflow.python.framework import ops\nops._gradient_registry._registry['x']\n", 2, "is private"),
    ("GG08", HEAD + "tf.nn.softmax_cross_entropy_with_logits(a, b)\n", 3, "write labels= and logits="),
    ("GG08", HEAD + "tf.nn.dropout(x, 0.5)\n", 3, "keep_prob in TF 1"), ("GG08", HEAD + "tf.concat(1, [a])\n", 3, "axis"),
    ("GG08", "from keras import backend\nbackend.get_session()\n", 2, "gone in Keras 3"),
    ("GG09", "import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\n", 2, "tf.disable_v2_behavior()"),
]


@pytest.mark.parametrize("code, source, line, text", CASES)
def test_found(tmp_path, code, source, line, text):
    """At this line, with what to write instead."""
    path = tmp_path / "old.py"
    path.write_text(source)
    assert [h for h in scan(str(path)) if (h.code, h.line) == (code, line) and text in h.text], scan(str(path))


def test_clean_code_is_clean(tmp_path):
    """Code that does it right has no hazard: keys that match, registered names, keyword arguments."""
    path = tmp_path / "clean.py"
    path.write_text(
        "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n@tf.RegisterGradient('G')\ndef g(op, grad): return grad\n"
        "def concat(axis, x): return x\nconcat(1, 2)\nmine.mul(3)\n"
        "with tf.get_default_graph().gradient_override_map({'Relu': 'G', 'Sign': 'Identity'}):\n"
        "    y = tf.nn.relu(tf.concat([x, x], 1))\n"
        "tf.nn.softmax_cross_entropy_with_logits(labels=a, logits=b)\n")
    assert scan(str(path)) == []


def test_every_class_has_a_case():
    """All ten, and what cannot be parsed, are tested here or below."""
    assert {case[0] for case in CASES} | {"GG00", "GG10"} == set(CLASSES)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "two.py").write_text("import tensorflow as tf\nprint 'x'\ny = tf.mul(a, b)\n")
    (tmp_path / "package" / "broken.py").write_text("def f(:\n    tf.sub(a, b)\n")
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf"]},
        {"cell_type": "code", "source": "tf.neg(x)"}]}))
    (tmp_path / "graph.pb").write_bytes(
        b"\n\x04Relu\x12\x1f\n\x11_gradient_op_type\x12\x0a\x12\x08MyGuided \n\x05token\x12\x0a\x12\x08pyfunc_3")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hidden.py").write_text("import tensorflow as tf\ntf.mul(a, b)\n")
    return tmp_path


@pytest.mark.parametrize("name, code, text", [
    ("two.py", "GG00", "Python 2"), ("two.py", "GG07", "tf.mul is gone"), ("broken.py", "GG00", "only searched for words"),
    ("broken.py", "GG07", "tf.sub is gone"), ("book.ipynb", "GG07", "tf.neg is gone"),
    ("graph.pb", "GG10", "tagged with gradient 'MyGuided'"), ("graph.pb", "GG10", "py_func tokens (pyfunc_3)")])
def test_a_tree(tree, name, code, text):
    """Python 2, what is neither, notebooks and graph files; folders that begin with a dot are left out."""
    found = scan(str(tree))
    assert [h for h in found if h.path.endswith(name) and h.code == code and text in h.text], found
    assert not [h for h in found if "hidden" in h.path]


def test_json_and_sarif(tree):
    """Both parse; SARIF has a rule and a place for each result."""
    found = scan(str(tree))
    assert [entry["line"] for entry in json.loads(as_json(found))] == [h.line for h in found]
    run = json.loads(as_sarif(found))["runs"][0]
    assert {r["ruleId"] for r in run["results"]} <= {r["id"] for r in run["tool"]["driver"]["rules"]}
    assert all(r["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1 for r in run["results"])


def test_fix_shows_a_diff_first(tmp_path):
    """Renames that are certain, as a diff; the file changes with --write only, and what is not certain stays."""
    path = tmp_path / "old.py"
    old = ("import tensorflow as tf\nfrom tensorflow.python.ops import gen_nn_ops\ny = tf.mul(a, tf.sub(b, c)) + mine.tf.mul\n"
           "z = gen_nn_ops._relu_grad(a, b)\nw = tf.select(p, a, b)\n")
    path.write_text(old)
    new = fixes(scan(str(path)))[str(path)]
    assert new == old.replace("= tf.mul(", "= tf.multiply(").replace("tf.sub(", "tf.subtract(").replace("._relu", ".relu")
    assert "+y = tf.multiply(a, tf.subtract(b, c)) + mine.tf.mul" in diff(str(path), new).splitlines()
    assert path.read_text() == old
    done = graphgrad("scan", "--write", str(path))
    assert done.returncode == 0 and path.read_text() == new


@pytest.mark.parametrize("source, status", [("x = 1\n", 0), ("import tensorflow as tf\ntf.mul(a, b)\n", 1), (None, 2)])
def test_exit_status(tmp_path, source, status):
    """0 clean, 1 hazards, 2 usage."""
    path = tmp_path / "x.py"
    if source is not None:
        path.write_text(source)
    assert graphgrad("scan", str(path)).returncode == status


def test_an_empty_folder(tmp_path):
    """One sentence."""
    with pytest.raises(UsageError, match="holds no Python file, notebook or graph file"):
        scan(str(tmp_path))


def test_no_tensorflow_is_imported():
    """Nor numpy."""
    code = "import sys, graphgrad.legacy.scan; assert not {'tensorflow', 'numpy'} & set(sys.modules), sorted(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
