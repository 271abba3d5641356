"""Graphs with overrides and tf_funcs in them, saved and loaded in another process (design 4.10)."""
import os
import subprocess
import sys

import pytest
import tensorflow
from conftest import TF1

import graphgrad as gg

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "saved")
OLD = os.path.join(HERE, "by_1_15_5")


def python(script, *arguments):
    """What a script of tests/saved prints; it finds its module and, if it imports it, graphgrad."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(gg.__file__)))
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, script)] + [str(a) for a in arguments],
                          env=dict(os.environ, PYTHONPATH=root), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module", params=["made on TensorFlow 1.15.5", "made here"])
def folder(request, tmp_path_factory):
    if request.param == "made on TensorFlow 1.15.5":
        return OLD
    made = tmp_path_factory.mktemp("saved")
    python("make.py", made)
    return made


@pytest.mark.parametrize("kind", ["saved", "meta", "graph_def"])
def test_a_process_that_imports_the_same_module_finds_the_gradients(folder, kind):
    """SavedModel, meta graph and GraphDef: the stored gradient runs, and a new one is the overridden one."""
    loop = ["loop [5.0, 5.0]"] if kind != "graph_def" else []
    assert python("read.py", kind, folder, "net") == ["stored [30.0, 30.0]", "built [30.0, 30.0]"] + loop


@pytest.mark.parametrize("imported", ["graphgrad", "nothing"])
def test_without_the_module_the_stored_gradient_runs_and_a_new_one_is_refused(folder, imported):
    """By TensorFlow alone as well: never the ordinary gradient."""
    assert python("read.py", "saved", folder, imported) == ["stored [30.0, 30.0]", "LookupError"]


@gg.register_gradient("test_saved.Five")
def five(op, grad):
    return 5.0 * grad


@gg.register_gradient("test_saved.Six")
def six(op, grad):
    return 6.0 * grad


@pytest.mark.skipif(TF1, reason="1.15 loads the signatures of such a model only, and cannot differentiate them")
def test_a_saved_model_of_version_2(tmp_path):
    """tf.saved_model.save of a function that was built under an override, with a tf_func in it; an eager tape after loading."""
    x = tensorflow.constant([-1.0, 2.0])

    class Net(tensorflow.Module):
        @tensorflow.function(input_signature=[tensorflow.TensorSpec([2])])
        def __call__(self, x):
            with gg.override_gradients({"Relu": "test_saved.Five"}):
                y = tensorflow.nn.relu(x)
            return gg.tf_func_with_grad(tensorflow.abs, [y], grad=six)

    net = Net()
    with pytest.raises(ValueError, match="experimental_custom_gradients=False") as caught:
        tensorflow.saved_model.save(net, str(tmp_path))
    assert "asks for gradient 'test_saved." in str(caught.value.__cause__)
    tensorflow.saved_model.save(
        net, str(tmp_path), options=tensorflow.saved_model.SaveOptions(experimental_custom_gradients=False))
    for function in (net, tensorflow.saved_model.load(str(tmp_path))):
        with tensorflow.GradientTape() as tape:
            tape.watch(x)
            z = function(x)
        assert tape.gradient(z, x).numpy().tolist() == [30.0, 30.0]
