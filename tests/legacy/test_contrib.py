"""tf.contrib's losses, metrics, images, cells, decoders and tables: values and variable names of TF 1.15.5."""
import os

import numpy as np
import pytest

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
