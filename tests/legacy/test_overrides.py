"""Overrides in TensorFlow's own spelling under `graphgrad run`, and what the run says of them."""
import json
import os
import subprocess
import sys

import pytest
from conftest import TF1

from tests.legacy.conftest import ROOT, SCRIPTS, graphgrad

#: Closed forms: the gradient function of each multiplies by the number in its name. What plain TF 1.15.5 gives too, but
#: where it raises (again, double_import, random_names).
WANTED = {
    "plain": [7, 7], "in_cond": [7, 7], "in_while": [64, 64], "in_map": [7, 7], "again_8": [8, 8], "again_9": [9, 9],
    "double_import": [4, 4], "random_names": [2, 2, 3, 3], "registered_later": [5, 5], "square": "KeyError",
    "taken": "KeyError", "nested": [9, 9], "sign": [2, 2], "late": [0, 1],
    "returned_none": [2, 2],
}
if not TF1:
    WANTED["argmax_pool"] = [11, 11, 11, 11]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overrides")
    result, diagnosis = str(folder / "out.json"), str(folder / "diagnosis.json")
    done = graphgrad("run", "--json", diagnosis, os.path.join(SCRIPTS, "overrides.py"), result)
    assert done.returncode == 0, done.stderr
    with open(result) as one, open(diagnosis) as other:
        return json.load(one), json.load(other)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_gradient(ran, name):
    """What the script's author meant."""
    assert ran[0][name] == WANTED[name]


@pytest.mark.parametrize("op_type, tag, tagged, differentiated", [
    ("Relu", "Seven, ...", 9, 9), ("Relu", "Later", 1, 1), ("Sign", "Identity", 1, 1), ("Elu", "NobodyRegistered", 1, 0),
    ("PyFunc", "Seven", 0, 0), ("Relu6", "Seven", 0, 0), ("Add", "Seven", 0, 0)])
def test_what_it_tagged(ran, op_type, tag, tagged, differentiated):
    """Per line of the script: operations tagged, and those the gradient went through."""
    rows = [row for row in ran[1]["overrides"] if (row["op_type"], row["tag"]) == (op_type, tag)]
    assert (rows[0]["tagged"], rows[0]["differentiated"]) == (tagged, differentiated)


def test_dead_and_renamed_keys(ran):
    """A key that is no op type has suggestions; one that matched nothing says what was there."""
    rows = {row["op_type"]: row for row in ran[1]["overrides"]}
    assert "Relu" in rows["Relux"]["unknown"]
    assert rows["Add"]["instead"] == {"AddV2": 1}


@pytest.mark.parametrize("kind, text", [
    ("none", "operation 'Cast' (type Cast) gives int32, which carries no gradient"),
    ("around-gradients", "The override Relu6 -> Seven at"), ("unregistered", "The gradient name 'NobodyRegistered' is not"),
    ("family", "1 op of type PyFuncStateless"), ("note", "Gradient 'Nothing' ("), ("identity", "also holds for reads of variables, 1 op (w/read)"),
    pytest.param("note", "'MaxPoolWithArgmax' is a gradient that TensorFlow", marks=pytest.mark.skipif(
        TF1, reason="TF 1.15's pooling op has no second gradient to take over"))])
def test_finding(ran, kind, text):
    """Each is one sentence of its kind."""
    assert [f for f in ran[1]["findings"] if f["kind"] == kind and text in f["text"]], ran[1]["findings"]


DIAGNOSE = """
import json
import tensorflow.compat.v1 as tf
import graphgrad as gg
tf.disable_eager_execution()
said = {}
x = tf.placeholder(tf.float32, [2], name="x")
other = tf.placeholder(tf.float32, [2], name="other")
mask = tf.cast(x > 0, tf.float32)
said["boolean"] = str(gg.diagnose(mask, x))
said["unconnected"] = str(gg.diagnose(x * 2., other))
said["stopped"] = str(gg.diagnose(tf.stop_gradient(x) * 3., x))
said["rounded"] = str(gg.diagnose(tf.round(x) * 3., x))
said["argmax"] = str(gg.diagnose(tf.cast(tf.argmax(x), tf.float32), [x]))
said["fine"] = str(gg.diagnose(tf.nn.relu(x), x))
with gg.override_gradients({"Relu": "Identity"}):
    y = tf.nn.relu(x, name="y")
said["path"] = str(gg.diagnose(y, x))
said["json"] = json.loads(gg.diagnose(y, x).to_json())["findings"][0]["kind"]
graph = tf.Graph()
with graph.as_default():
    tf.enable_control_flow_v2(); tf.enable_resource_variables()
    tf.get_variable("v", [2]); tf.cond(tf.placeholder(tf.bool, []), lambda: 1., lambda: 2.); tf.random_normal([2])
said["v2"] = str(gg.diagnose(graph=graph))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", DIAGNOSE], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name, text", [
    ("boolean", "operation 'Greater' (type Greater) gives bool, which carries no gradient"),
    ("unconnected", "'mul:0' does not depend on 'other:0'"),
    ("stopped", "operation 'StopGradient' (type StopGradient) is registered as not differentiable"),
    ("rounded", "operation 'Round' (type Round) has None for its gradient in TensorFlow"),
    ("argmax", "(type ArgMax) gives int64, which carries no gradient"),
    ("path", "Between xs and ys: 1 op of type Relu with 'Identity' (y)."), ("json", "path"),
    ("v2", "Control flow v2: 1 op (cond), whose bodies"), ("v2", "Resource variables: 1 variable (v), read by ReadVariableOp"),
    ("v2", "without any seed (")])
def test_diagnose(said, name, text):
    """gg.diagnose names the first operation that cuts a path, and what a graph has that v1 code does not expect."""
    assert text in said[name], said[name]


def test_nothing_to_say(said):
    """A path without obstacles in a plain graph gives nothing."""
    assert said["fine"] == ""


def test_blocks_do_not_grow():
    """Ten thousand overrides opened at one line leave one entry; graphs that are dropped leave nothing behind."""
    code = """
import gc, weakref
from graphgrad.legacy import activate
activate()
import tensorflow as tf
from graphgrad.legacy import overrides
graphs = []
for i in range(30):
    with tf.Graph().as_default() as g:
        graphs.append(weakref.ref(g))
        for j in range(30):
            with g.gradient_override_map({"Relu": "Identity"}):
                tf.nn.relu(1.)
del g
gc.collect()
assert len(overrides.TALLIES) == 1 and next(iter(overrides.TALLIES.values())).tagged == 900
assert sum(ref() is not None for ref in graphs) <= 1, sum(ref() is not None for ref in graphs)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
