"""Standalone Keras 1 and 2 over tf_keras, or over TF 2.15's own Keras; and what is said where there is only Keras 3.

old/keras_1.npz and keras_2.npz: `python keras_1.py`, `keras_2.py` with Keras 1.2.2 and 2.2.4 on TensorFlow 1.15.5. Its
optimizers that count their steps (Adam, SGD with decay) read the count while they write it, and are not compared.
"""
import importlib.util
import os

import numpy as np
import pytest
import tensorflow
from conftest import TF1

from tests.legacy.conftest import SCRIPTS, graphgrad

OLD = {name: dict(np.load(os.path.join(os.path.dirname(SCRIPTS), "old", name + ".npz"))) for name in ("keras_1", "keras_2")}
KERAS_2 = not TF1 and (importlib.util.find_spec("tf_keras") is not None or tensorflow.__version__ < "2.16")

if KERAS_2:   # else there is nothing that could stand for Keras 2
    @pytest.fixture(scope="module")
    def made(tmp_path_factory):
        numbers = {}
        for name in OLD:
            path = str(tmp_path_factory.mktemp("keras") / (name + ".npz"))
            done = graphgrad("run", os.path.join(SCRIPTS, name + ".py"), path)
            assert done.returncode == 0, done.stderr
            numbers[name] = dict(np.load(path))
        return numbers

    @pytest.mark.parametrize("name, key", [(name, key) for name in sorted(OLD) for key in sorted(OLD[name])])
    def test_numbers_are_keras_own(made, name, key):
        """Values, gradients and losses of Keras 1.2.2 and 2.2.4."""
        new, old = made[name][key], OLD[name][key]
        assert new.shape == old.shape
        np.testing.assert_allclose(new.astype(float), old.astype(float), rtol=1e-5, atol=5e-6 * np.abs(old).max())

    def test_its_names(run_in_module_folder):
        """What a name means: the very class of tf.keras; a name that went says so; a wrong argument too."""
        done = run_in_module_folder("names.py", "\n".join((
            "import keras, importlib",
            "import tensorflow as tf",
            "import keras.layers.core as core",
            "from keras.layers import *",
            "print(core.Dense is tf.keras.layers.Dense or core.Dense is tf.compat.v1.keras.layers.Dense, Dense is core.Dense)",
            "print(importlib.import_module('keras.utils.np_utils').to_categorical([1], 2))",
            "print(hasattr(keras.backend, 'theano'), keras.objectives.mse is keras.losses.mse)",
            "from keras.models import Graph",
            "for use in (Graph, lambda: __import__('keras.nothing'), lambda: keras.layers.Nothing,",
            "            lambda: keras.layers.BatchNormalization(mode=1),",
            "            lambda: keras.models.Sequential().fit(None, samples_per_epoch=3)):",
            "    try:",
            "        use()",
            "    except Exception as error:",
            "        print(type(error).__name__, error)")))
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[:3] == ["True True", "[[0. 1.]]", "False True"]
        assert lines[3].startswith("GoneError keras.models.Graph is gone since Keras 2")
        assert lines[4] == "ModuleNotFoundError keras.nothing is in no Keras 2, and graphgrad supplies nothing for it."
        assert lines[5].startswith("AttributeError keras.layers.Nothing is in no Keras that is installed")
        assert lines[6].startswith("ValueError BatchNormalization(mode=1), per sample, is gone since Keras 2")
        assert lines[7].startswith("TypeError samples_per_epoch= counts samples and is gone since Keras 2")

elif not TF1:
    def test_without_a_keras_2_it_says_what_to_install(run_in_module_folder):
        """One sentence, at the import of what Keras 3 has not or at its use."""
        done = run_in_module_folder("layers.py", "from keras.layers.core import Dense\n")
        assert done.returncode == 1
        assert "keras.layers.core is gone since Keras 3" in done.stderr and "install the package tf_keras" in done.stderr
        done = run_in_module_folder("session.py", "from keras import backend as K\nprint(K.floatx())\nK.get_session()\n")
        assert (done.returncode, done.stdout) == (1, "float32\n")
        assert "keras.backend.get_session is gone since Keras 3: install the package tf_keras" in done.stderr
        assert "has neither sessions nor the names of Keras 1 and 2" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(TF1, reason="TF 1.15 has its own rnn_cell")
def test_compat_v1_is_one_module(run_in_module_folder):
    """import tensorflow.compat.v1 does not put TensorFlow's own objects back in place of ours."""
    done = run_in_module_folder("compat.py", "\n".join((
        "import tensorflow.compat.v1 as tf1", "import tensorflow as tf", "import sys",
        "print(tf1 is tf.compat.v1, sys.modules['tensorflow.compat.v1'] is tf1, tf1.nn.rnn_cell.GRUCell.__name__)")))
    assert done.stdout == "True True GRUCell\n", done.stderr
