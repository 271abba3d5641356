"""tf.contrib's losses, metrics, images, cells, decoders and tables: values and variable names of TF 1.15.5."""
import importlib.util
import os

import numpy as np
import pytest
from conftest import TF1

from tests.legacy.conftest import SCRIPTS, graphgrad

OLD = dict(np.load(os.path.join(os.path.dirname(SCRIPTS), "old", "contrib.npz")))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("contrib") / "new.npz")
    done = graphgrad("run", os.path.join(SCRIPTS, "contrib.py"), path)
    assert done.returncode == 0, done.stderr
    return dict(np.load(path))


@pytest.mark.parametrize("key", sorted(OLD))
def test_it_is_that_of_1_15(made, key):
    """Made with `python contrib.py` on TF 1.15.5."""
    new, old = made[key], OLD[key]
    if old.dtype.kind == "S":
        assert new.tolist() == old.tolist()
    else:
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        np.testing.assert_allclose(new, old, rtol=1e-5, atol=5e-6 * max(np.abs(old).max(), 1e-30))


@pytest.mark.skipif(TF1, reason="TF 1.15 has its own tf.contrib")
def test_the_packages_that_carry_it(run_in_module_folder):
    """tf_slim and tensorflow_probability where they are installed; what they would bring is said where they are not."""
    done = run_in_module_folder("packages.py", "\n".join((
        "import tensorflow as tf", "from tensorflow.contrib import slim", "from tensorflow.contrib.slim.nets import vgg",
        "slim.conv2d(tf.ones([1, 8, 8, 3]), 4, [3, 3], normalizer_fn=slim.batch_norm, scope='c')",
        "print([v.op.name for v in tf.trainable_variables()], slim.conv2d.__module__.partition('.')[0])",
        "normal = tf.contrib.distributions.Normal(0., 1.).log_prob(0.)",
        "print('%.4f' % tf.Session().run(normal))", "vgg.vgg_arg_scope()", "print('there')")))
    lines = done.stdout.splitlines()
    slim = importlib.util.find_spec("tf_slim") is not None
    assert lines[:2] == ["['c/weights', 'c/BatchNorm/beta'] {}".format("tf_slim" if slim else "graphgrad"), "-0.9189"]
    if slim:
        assert (done.returncode, lines[2]) == (0, "there")
    else:
        assert "vgg_arg_scope is gone since TF 2.0: graphgrad does not supply this part of it; install tf_slim" in done.stderr
