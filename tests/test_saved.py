"""Graphs with overrides and tf_funcs in them, saved and loaded in another process (design 4.10)."""
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf

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


@pytest.fixture(scope="module")
def loaded():
    """The SavedModel of 1.15.5, in a process whose modules do not register its gradients."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.saved_model.load(session, ["serve"], os.path.join(OLD, "saved"))
    return graph


def definition(tag=None):
    """A GraphDef with y = relu(x) and a loop with a Relu in it, tagged or not."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        with graph.gradient_override_map({"Relu": tag} if tag else {}):
            tf.nn.relu(x, name="y")

        def body(i, y):
            with tf.get_default_graph().gradient_override_map({"Relu": tag} if tag else {}):
                return i + 1, tf.nn.relu(y)

        tf.identity(tf.while_loop(lambda i, y: i < 1, body, [0, x])[1], name="loop")
        return graph.as_graph_def()


def test_unregistered_names_are_listed_with_what_to_do(loaded):
    """By diagnose, and where tf.gradients fails inside a block; TensorFlow's error names neither."""
    five = ("The gradient name 'net.five' is not registered in this process, and 2 ops carry it as a tag (Relu, while/Relu): "
            "tf.gradients through them fails. Import the module that registers it, or register one: "
            "@graphgrad.register_gradient('net.five').")
    six = "The gradient name 'Six' is not registered"
    said = str(gg.diagnose(graph=loaded))
    assert five in said and six in said
    z, x = loaded.get_tensor_by_name("z:0"), loaded.get_tensor_by_name("x:0")
    override = gg.override_gradients({"Abs": "Identity"})
    with loaded.as_default():
        with pytest.raises(gg.RegistrationError, match="'net.five'.*'Six'") as caught:
            with override:
                tf.gradients(tf.abs(z), x)
        assert isinstance(caught.value.__cause__, LookupError)
        with pytest.raises(gg.RegistrationError, match="'net.five'.*'Six'"):
            with gg.override_gradients({"Relu": None}).on(loaded, where="Relu"):
                tf.gradients(z, x)


def test_unregistered_names_in_library_functions_are_listed(control_flow, graph):
    """In the bodies of imported loops too, and TensorFlow's own names of other processes."""
    tf.import_graph_def(definition("test_saved.Nobody"), name="")
    said = str(gg.diagnose())
    assert "'test_saved.Nobody' is not registered in this process, and 2 ops carry it as a tag (y, while" in said
    tf.import_graph_def(definition("CustomGradient-987654"), name="")
    assert "'CustomGradient-987654' is not registered in this process" in str(gg.diagnose())
    assert "TensorFlow's own name for one call in the process that built the graph" in str(gg.diagnose())


def test_an_imported_graph_under_an_override(control_flow, graph, run):
    """Operations are reached as TensorFlow's map reaches them; what is in library functions is told."""
    override = gg.override_gradients({"Relu": five})
    if control_flow == 2:
        with pytest.warns(gg.OverrideWarning, match="Out of reach of the override.*: Relu .in a function that was imported"):
            with override:
                tf.import_graph_def(definition(), name="")
    else:
        with override:
            tf.import_graph_def(definition(), name="")
    x, y = (graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
    assert run(tf.gradients(y, x)[0], {x: [-1.0, 2.0]}).tolist() == [5.0, 5.0]


def test_loops_of_an_imported_graph_under_on(control_flow, graph):
    """Refused: as library functions, and as loops of version 1 whose contexts a GraphDef does not keep."""
    tf.import_graph_def(definition(), name="")
    x, loop = (graph.get_tensor_by_name(name) for name in ("x:0", "loop:0"))
    text = {1: "cannot differentiate the loops of an imported GraphDef.*while/Exit.*import a meta graph",
            2: "runs the function .*rebuilds that function from its serialized form.*on\\(\\) cannot reach them"}[control_flow]
    with pytest.raises(gg.OverrideError, match=text):
        with gg.override_gradients({"Relu": five}).on(graph):
            tf.gradients(loop, x)
    if control_flow == 1:
        assert "import a meta graph of it (tf.train.export_meta_graph), or build it again" in str(gg.diagnose())


def test_a_python_function_of_another_process_is_named(graph):
    """It cannot be kept: diagnose names it after loading, and running it says where it belongs."""
    node = gg.py_func_with_grad(np.square, [tf.constant([3.0])], tf.float32, grad=five).op.node_def
    token = node.attr["token"].s.decode()
    assert token.startswith("square@only-in-the-process-that-built-it.")
    with tf.Graph().as_default() as other:
        node.attr["token"].s = b"square@only-in-the-process-that-built-it.0123.0"
        del node.input[:]
        del node.attr["Tin"].list.type[:]
        made = tf.import_graph_def(tf.GraphDef(node=[node]), return_elements=[node.name + ":0"], name="")[0]
        said = str(gg.diagnose(graph=other))
        with pytest.raises(tf.errors.OpError, match="square@only-in-the-process-that-built-it.0123.0"), tf.Session() as session:
            session.run(made)
    assert ("runs a Python function that is not in this process (square@only-in-the-process-that-built-it.0123.0), and no file "
            "keeps one: build the graph here, or use tf_func_with_grad.") in said


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


if not TF1:   # 1.15 asks no gradient functions when it saves
    def test_a_python_function_is_refused_at_save_time(tmp_path):
        """tf.saved_model.save asks for its gradient."""
        class Net(tensorflow.Module):
            @tensorflow.function(input_signature=[tensorflow.TensorSpec([2])])
            def __call__(self, x):
                return gg.py_func_with_grad(np.square, [x], tensorflow.float32, grad=lambda op, grad: grad, output_shapes=lambda x: x)

        with pytest.raises(ValueError) as caught:
            tensorflow.saved_model.save(Net(), str(tmp_path))
        assert "keeps no Python function, so nobody could run it. Use tf_func_with_grad." in str(caught.value.__cause__)

    def test_a_keras_model_under_an_override_exported(tmp_path):
        """As a function of a tf.Module; loaded, an eager tape finds the override again."""
        layers = tensorflow.keras.layers
        model = tensorflow.keras.Sequential([layers.InputLayer((2,)), layers.Activation("relu")])
        module = tensorflow.Module()
        under = gg.override_gradients({"Relu": "test_saved.Five"})(model)
        module.serve = tensorflow.function(lambda x: under(x), input_signature=[tensorflow.TensorSpec([None, 2])])
        tensorflow.saved_model.save(
            module, str(tmp_path), options=tensorflow.saved_model.SaveOptions(experimental_custom_gradients=False))
        x = tensorflow.constant([[-1.0, 2.0]])
        loaded = tensorflow.saved_model.load(str(tmp_path))
        with tensorflow.GradientTape() as tape:
            tape.watch(x)
            y = loaded.serve(x)
        assert tape.gradient(y, x).numpy().tolist() == [[5.0, 5.0]]
        assert y.numpy().tolist() == [[0.0, 2.0]]
