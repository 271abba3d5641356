"""The names: each old spelling does what it did. Expected values are TF 1.15.5's, closed forms, or old documentation."""
import json
import math
import os

import numpy as np
import pytest
from conftest import TF1

from tests.legacy.conftest import SCRIPTS, graphgrad

LOG_LOSS = math.log(1 + math.exp(-1))   # of logits (2, 1) and label 0
WANTED = {
    "mul": [3, 10], "sub": [-2, -3], "neg": [-1, -2], "pack": [[1, 2], [3, 5]], "unpack": 2, "select": [1, 5],
    "batch_matmul": [[[11]]], "concat": [1, 2, 3, 5], "concat_new": [1, 2, 3, 5], "split": [2], "split_new": [2],
    "reverse": [2, 1], "reverse_new": [2, 1], "cross_entropy": [LOG_LOSS], "cross_entropy_named": [LOG_LOSS],
    "sparse_cross_entropy": [LOG_LOSS], "sparse_new_order": [LOG_LOSS],
    "sigmoid_targets": [[math.log(1 + math.exp(-2)), math.log(1 + math.exp(1))]],
    "told": ["softmax_cross_entropy_with_logits(x, y) by position means (l",
             "sparse_softmax_cross_entropy_with_logits(x, y) by position m"],
    "merge_all_summaries": True, "SummaryWriter": True, "all_variables": ["ref:0"], "relu_grad": [1, 2],
    "max_pool_grad": "max_pool_grad", "temporary": "temporary_variable",
    "Tensor": True, "IndexedSlices": "IndexedSlices", "op_scope": "scope/", "cond": [1, 2], "training_ops": True,
    "in_graph_mode": True, "remove_undocumented": True, "_inputs": ["Const:0", "Const_1:0"], "_linear": [2, 4],
    "python": True, "HParams": {"x": 3, "y": 0.5, "z": [4, 5]}, "nest": [2, 3, 1], "graph_replace": [1, 1],
    "backward_walk": ["AddV2", "Const", "Exp", "Square"], "filter": ["squared"], "select_ops": ["squared"],
    "copy": [math.e, math.e], "reroute": 1, "rerouted": [math.exp(5), math.exp(10)], "numpy": [3, 2, True, 4, True, 6],
    "unknown": True,
}
WANTED["tanh_grad"] = [(1 - 1) * 3, (1 - 4) * 5]   # dy * (1 - y^2) at y = a, dy = b


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("names") / "out.json")
    done = graphgrad("run", "--shims", os.path.join(SCRIPTS, "names.py"), path)
    assert done.returncode == 0, done.stderr
    with open(path) as stream:
        return json.load(stream), done.stderr


@pytest.mark.parametrize("name", sorted(WANTED))
def test_name(names, name):
    """It is there and gives what it gave."""
    got = names[0][name]
    if isinstance(WANTED[name], list) and not isinstance(WANTED[name][0], str):
        np.testing.assert_allclose(np.array(got, float), np.array(WANTED[name], float), rtol=1e-6)
    else:
        assert got == WANTED[name]


def test_used_shims_are_listed(names):
    """--shims: the old name, since when it is gone, what to write; only those that were used."""
    assert "graphgrad: supplied tensorflow.mul (gone since TF 1.0): tf.multiply" in names[1]
    assert "tensorflow.inv " not in names[1]


@pytest.mark.skipif(TF1, reason="TF 1.15 has its own tf.contrib")
def test_what_has_no_replacement_raises_when_it_is_used(names):
    """Importing it is allowed; calling it says what it was and when it went."""
    assert names[0]["gone"].startswith("tensorflow.contrib.nothing_of_the_kind.at_all is gone since TF 2.0")


with open(os.path.join(os.path.dirname(SCRIPTS), "old", "networks.json")) as stream:
    OLD_NETWORKS = json.load(stream)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("networks") / "out.json")
    done = graphgrad("run", os.path.join(SCRIPTS, "networks.py"), path)
    assert done.returncode == 0, done.stderr
    with open(path) as stream:
        return json.load(stream)


@pytest.mark.parametrize("what", ["variables", "trainable", "updates", "losses", "seeds", "before", "after", "y"])
@pytest.mark.parametrize("network", sorted(OLD_NETWORKS))
def test_layers_are_those_of_1_15(networks, network, what):
    """tf.layers, slim, contrib.layers and cells: names, op seeds, initial weights, outputs and one step, of TF 1.15.5."""
    got, want = networks[network][what], OLD_NETWORKS[network][what]
    if what in ("before", "after"):
        assert sorted(got) == sorted(want)
        np.testing.assert_allclose([got[key] for key in sorted(want)], [want[key] for key in sorted(want)],
                                   rtol=1e-4, atol=1e-6)
    elif what == "y":
        np.testing.assert_allclose(got, want, rtol=1e-4)
    elif what == "seeds":   # the operations have other names in dropout, in the same order
        assert [seed for _, seed in got] == [seed for _, seed in want]
    else:
        assert got == want


def test_tf2_seeds_turns_the_old_derivation_off(run_in_module_folder):
    """The second unseeded op of a seeded graph: 1.x counts operations (3, 8), 2.x counts seeds (0, 1)."""
    source = ("import tensorflow as tf\ntf.set_random_seed(1)\nops = [tf.random_normal([2]), tf.random_normal([2])]\n"
              "g = tf.get_default_graph()\nprint([o.get_attr('seed2') for o in g.get_operations() if o.type == "
              "'RandomStandardNormal'])\n")
    assert run_in_module_folder("seeds.py", source).stdout == "[3, 9]\n"
    if not TF1:
        assert run_in_module_folder("seeds.py", source, options=["--tf2-seeds"]).stdout == "[0, 1]\n"
