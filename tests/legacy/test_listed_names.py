"""What old code imports most: each name gives the values, variables and operations of TF 1.15.5, or says what to do."""
import json
import os
import re

import numpy as np
import pytest
from conftest import TF1

from tests.legacy.conftest import SCRIPTS, graphgrad

NAMES = os.path.join(os.path.dirname(SCRIPTS), "old", "names.json")   # of TF 1.15.5's dir()
OLD = dict(np.load(os.path.join(os.path.dirname(SCRIPTS), "old", "listed.npz")))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("listed") / "new.npz")
    done = graphgrad("run", os.path.join(SCRIPTS, "listed.py"), path)
    assert done.returncode == 0, done.stderr
    new = dict(np.load(path))
    assert not [key for key in new if key.startswith("errors/")], done.stderr
    return new


@pytest.mark.parametrize("part", sorted({key.partition("/")[0] for key in OLD}))
def test_it_is_that_of_1_15(made, part):
    """Made with `python listed.py` on TF 1.15.5."""
    keys = [key for key in OLD if key.partition("/")[0] == part]
    assert sorted(keys) == sorted(key for key in made if key.partition("/")[0] == part)
    for key in keys:
        new, old = made[key], OLD[key]
        assert (new.dtype.kind, new.shape) == (old.dtype.kind, old.shape), key
        if old.dtype.kind == "f":
            assert new.dtype == old.dtype
            np.testing.assert_allclose(new, old, 1e-5, 5e-6 * max(np.abs(old).max(), 1e-30), err_msg=key)
        else:
            assert new.tolist() == old.tolist(), key


@pytest.fixture(scope="module")
def resolved(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("resolved") / "out.json")
    done = graphgrad("run", os.path.join(SCRIPTS, "resolve.py"), NAMES, path)
    assert done.returncode == 0, done.stderr
    with open(path) as stream:
        return json.load(stream)


with open(NAMES) as stream:
    PARTS = {part: names.split() for part, names in json.load(stream).items()}
SAYS = re.compile(r"^tensorflow\.contrib\.\w+\.\w+ is gone since TF 2\.0: graphgrad does not supply this part of it; "
                  r".* operations\.$")
#: What must be there, not only be told of.
WHOLE = {part: PARTS[part] for part in ("layers", "nn.rnn_cell")}
WHOLE["contrib.slim"] = WHOLE["contrib.layers"] = (
    "conv2d fully_connected batch_norm flatten max_pool2d avg_pool2d dropout l1_regularizer l2_regularizer layer_norm "
    "xavier_initializer variance_scaling_initializer optimize_loss").split()
WHOLE["contrib.framework"] = (
    "nest arg_scope get_or_create_global_step assign_from_checkpoint_fn list_variables load_variable").split()
WHOLE["contrib.training"] = ["HParams"]
WHOLE["contrib.graph_editor"] = [name for name in PARTS["contrib.graph_editor"] if re.match(
    r"get_.*_ops|select|filter_ops|reroute|make_list|graph_replace|copy_with", name)]
WHOLE["contrib.rnn"] = PARTS["nn.rnn_cell"] + ["static_rnn", "static_bidirectional_rnn"]
WHOLE["contrib.seq2seq"] = (
    "TrainingHelper GreedyEmbeddingHelper BasicDecoder BasicDecoderOutput dynamic_decode sequence_loss").split()
WHOLE["contrib.distributions"] = (
    "Normal Uniform Beta Gamma Bernoulli Categorical Dirichlet Exponential Laplace StudentT kl_divergence").split()


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_name_of_1_15_is_there_or_says_so(resolved, part):
    """Never an AttributeError without a word, nor something else under its name."""
    for name, said in resolved[part].items():
        if said != "there":
            assert not TF1 and SAYS.match(said) and name in said, (name, said)
    assert [name for name in WHOLE.get(part, ()) if resolved[part][name] != "there"] == []


@pytest.mark.skipif(TF1, reason="some stand in for what TF 1.15 has under another name")
def test_every_entry_of_the_catalogue_leads_somewhere(resolved):
    """The replacement exists on this TensorFlow; a private name of a generated module is the operation of that name."""
    for title, said in resolved["catalogue"].items():
        module, _, name = title.rpartition(".")
        if ".gen_" in module:
            assert said == name.lstrip("_"), title
        elif said != "there":
            assert title == "tensorflow.estimator" and "gone since TF 2.16: install tensorflow 2.15" in said


EAGER = """\
import json
import tensorflow as tf
tfe = tf.contrib.eager
tf.enable_eager_execution()
w = tfe.Variable(3.0, name="w")
def square(x):
    return x * x
def square_of_variable():
    return w * w
def plain(v):
    if isinstance(v, (list, tuple)):
        return [plain(item) for item in v]
    return v.name.split(":")[0] if v is w else float(v.numpy())
print(json.dumps({name: plain(value) for name, value in {
    "gradients_function": tfe.gradients_function(square)(3.0),
    "implicit_gradients": tfe.implicit_gradients(square_of_variable)(),
    "value_and_gradients_function": tfe.value_and_gradients_function(square)(3.0),
    "implicit_value_and_gradients": tfe.implicit_value_and_gradients(square_of_variable)(),
    "defun": tfe.defun(square)(tf.constant(4.0)), "py_func": tfe.py_func(square, [tf.constant(5.0)], tf.float32),
    "in_eager_mode": tf.constant(float(tfe.in_eager_mode()))}.items()}))
"""


@pytest.fixture(scope="module")
def eager(run_in_module_folder):
    done = run_in_module_folder("eager.py", EAGER)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name, want", [
    ("gradients_function", [6.0]), ("implicit_gradients", [[6.0, "w"]]), ("value_and_gradients_function", [9.0, [6.0]]),
    ("implicit_value_and_gradients", [9.0, [[6.0, "w"]]]), ("defun", 16.0), ("py_func", 25.0), ("in_eager_mode", 1.0)])
def test_eager_names(eager, name, want):
    """tf.contrib.eager in eager mode, on x^2 at 3, 4 and 5."""
    assert eager[name] == want
