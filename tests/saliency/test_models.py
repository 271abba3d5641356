"""Models from files of every kind: the same maps from each, and a sentence for what is none."""
import contextlib
import os
import shutil
import warnings

import numpy as np
import pytest
import tensorflow
from _digits import DIGITS, FROZEN, META, assert_close, recorded
from conftest import TF1, tf

import graphgrad as gg

RANDOM = np.random.RandomState(11)
W = RANDOM.randn(4, 5).astype("f")
U = RANDOM.randn(5, 6).astype("f")
V = RANDOM.randn(6, 3).astype("f")
X = RANDOM.randn(7, 4).astype("f")
TF2 = tuple(int(part) for part in tensorflow.__version__.split(".")[:2])


def guided(target):
    """Guided backprop of relu(relu(x W) U) V, in numpy."""
    first = X.dot(W)
    second = np.maximum(first, 0).dot(U)
    back = np.maximum(np.broadcast_to(V[:, target], second.shape), 0) * (second > 0)
    return (np.maximum(back.dot(U.T), 0) * (first > 0)).dot(W.T)


def session_net(softmax=False):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    weights = [tf.get_variable(name, initializer=value) for name, value in (("w", W), ("u", U), ("v", V))]
    y = tf.matmul(tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, weights[0])), weights[1])), weights[2], name="y")
    return x, tf.nn.softmax(y, name="softmax") if softmax else y


def keras_model(weights=(W, U, V)):
    """The same as a Keras model with what others miss: a ReLU layer, a nested model, dropout, a softmax."""
    keras = tensorflow.keras
    inner = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(6, use_bias=False), keras.layers.ReLU()])
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(5, use_bias=False, activation="relu"), inner,
                              keras.layers.Dropout(0.5), keras.layers.Dense(3, use_bias=False, activation="softmax")])
    if weights is not None:
        model.set_weights(weights)
    return model


def save_frozen(folder):
    path = os.path.join(folder, "frozen.pb")
    with tf.Graph().as_default(), tf.Session() as session:
        session_net(softmax=True)
        session.run(tf.global_variables_initializer())
        definition = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["softmax"])
    with open(path, "wb") as stream:
        stream.write(definition.SerializeToString())
    return path


def save_checkpoint(folder):
    """With labels, a loss, an optimizer, and a keep probability beside the net."""
    path = os.path.join(folder, "model.ckpt-7")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = session_net()
        labels = tf.placeholder(tf.int32, [None])
        tf.placeholder(tf.float32, [], name="keep")
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y))
        tf.train.AdamOptimizer().minimize(loss)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    return path + ".meta"


def save_session_model(folder):
    path = os.path.join(folder, "saved_model_1")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = session_net(softmax=True)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, path, {"in": x}, {"out": y, "class": tf.argmax(y, 1)})
    return path


def save_object_model(folder):
    """A module whose signature calls functions: nothing of the net is in the outermost graph."""
    path = os.path.join(folder, "saved_model_2")

    class Net(tensorflow.Module):
        def __init__(self):
            super().__init__()
            self.weights = [tensorflow.Variable(value) for value in (W, U, V)]

        @tensorflow.function
        def layer(self, x, w):
            return tensorflow.nn.relu(tensorflow.matmul(x, w))

        @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 4], tensorflow.float32, name="x")])
        def __call__(self, x):
            hidden = self.layer(self.layer(x, self.weights[0]), self.weights[1])
            return tensorflow.nn.softmax(tensorflow.matmul(hidden, self.weights[2]))

    net = Net()
    tensorflow.compat.v2.saved_model.save(net, path, signatures=net.__call__)
    return path


KINDS = {"frozen": save_frozen, "checkpoint": save_checkpoint, "session_model": save_session_model,
         "object_model": save_object_model}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("kind", sorted(KINDS) + ["keras"] + (["keras_h5"]) + ([] if TF2 < (2, 12) else ["keras_keras"]))
def test_every_kind(folder, kind):
    """Input and output are found, a softmax is stepped behind, and guided backprop is that of numpy."""
    if kind.startswith("keras"):
        source = keras_model()
        if kind != "keras":
            path = os.path.join(folder, "model." + kind.split("_")[1])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")    # Keras, on its own older format
                source.save(path)
            source = path
    else:
        source = KINDS[kind](folder)
    with gg.saliency.load(source) as model:
        assert model.x.shape.as_list() == [None, 4] and model.y.shape.as_list() == [None, 3]
        assert model.y.op.type == "MatMul"
        assert any("softmax" in note for note in model.notes) == (kind != "checkpoint")
        method = gg.saliency.guided_backprop(model.y, model.x, 1)
        assert {key: len(names) for key, names in method.overridden.items()} == {"Relu": 2}
        np.testing.assert_allclose(method(model.session, X), guided(1), rtol=1e-5, atol=1e-6)


def test_a_keras_model_of_a_graph():
    """Built as in TF 1: taken where it is, with the weights of Keras's Session, which stays open; Keras 3 has none."""
    with tf.Graph().as_default():
        if TF2 >= (2, 16):
            source = keras_model(weights=None)
            with pytest.raises(gg.SaliencyError, match="built with eager execution off, where Keras 3.* no values"):
                gg.saliency.load(source)
            return
        source = keras_model()
        with gg.saliency.load(source) as model:
            method = gg.saliency.guided_backprop(model.y, model.x, 1)
            np.testing.assert_allclose(method(model.session, X), guided(1), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(source.get_weights()[0], W)


@pytest.mark.parametrize("path", [FROZEN, META, META[:-len(".meta")]])
def test_the_digits(path):
    """The shipped example, frozen and as a checkpoint: the maps recorded on TF 1.15.5."""
    images, gradient, guided_backprop = recorded()
    with gg.saliency.load(path) as model:
        assert (model.x.name, model.y.name, model.notes) == ("images:0", "logits:0", [])
        assert_close(gg.saliency.gradient(model.y, model.x, "top")(model.session, images), gradient)
        assert_close(gg.saliency.guided_backprop(model.y, model.x, "top")(model.session, images), guided_backprop)


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as stream:
        stream.write(data)
    return path


@pytest.mark.parametrize("name, data, text", [
    ("none.pb", None, "There is no model .*none.pb"),
    ("garbage.pb", b"\xff\xfe garbage", "is not a frozen graph"),
    ("empty.pb", b"", "is not a frozen graph"),
    ("notes.txt", b"hello", "is not a frozen graph: .* end in .meta, .h5 or .keras, or are a SavedModel folder"),
    ("none.meta", None, "There is no model .*none.meta"),
    ("lonely.meta", b"", "There is no checkpoint .*lonely"),
    ("broken.h5", b"no hdf5", "cannot load .*broken.h5"),
    ("broken.keras", b"no zip", "cannot load .*broken.keras"),
    ("folder", "folder", "is no SavedModel"),
])
def test_what_is_no_model(tmp_path, name, data, text):
    """One sentence each."""
    path = str(tmp_path / name)
    if data == "folder":
        os.mkdir(path)
    elif data is not None:
        write(str(tmp_path), name, data)
    with pytest.raises(gg.SaliencyError, match=text) as caught:
        gg.saliency.load(path)
    assert "\n" not in str(caught.value)


def test_a_broken_meta_graph_and_a_foreign_checkpoint(tmp_path, folder):
    """A meta file of noise; a checkpoint of another model; a truncated SavedModel."""
    for name in os.listdir(DIGITS):
        shutil.copy(os.path.join(DIGITS, name), str(tmp_path))
    write(str(tmp_path), "model.ckpt.meta", b"\xff\xfe noise")
    with pytest.raises(gg.SaliencyError, match="model.ckpt.meta is not a meta graph"):
        gg.saliency.load(str(tmp_path / "model.ckpt.meta"))
    meta = save_checkpoint(str(tmp_path))
    with pytest.raises(gg.SaliencyError, match="does not fit its graph"):
        gg.saliency.load(meta, checkpoint=str(tmp_path / "model.ckpt"))
    os.mkdir(str(tmp_path / "saved"))
    write(str(tmp_path / "saved"), "saved_model.pb", b"\xff\xfe noise")
    with pytest.raises(gg.SaliencyError, match="is no SavedModel"):
        gg.saliency.load(str(tmp_path / "saved"))


def test_models_that_lack_a_part(tmp_path):
    """Variables that are gone, an operation that is not here, no signature, an h5 file of something else: a sentence each."""
    import h5py
    for save in (save_session_model, save_object_model):
        path = save(str(tmp_path))
        assert repr(gg.saliency.load(os.path.join(path, "saved_model.pb"))).startswith("Model(")
        shutil.rmtree(os.path.join(path, "variables"))
        with pytest.raises(gg.SaliencyError, match="TensorFlow .* cannot load the SavedModel .*{}: ".format(os.path.basename(path))):
            gg.saliency.load(path)
    meta = tf.MetaGraphDef()
    meta.graph_def.node.add(name="x", op="NoSuchOperation")
    write(str(tmp_path), "odd.meta", meta.SerializeToString())
    write(str(tmp_path), "odd.index", b"")
    with pytest.raises(gg.SaliencyError, match="TensorFlow .* cannot read the graph of .*odd.meta: .*NoSuchOperation"):
        gg.saliency.load(str(tmp_path / "odd.meta"))
    bare = str(tmp_path / "bare")
    module = tensorflow.Module()
    module.v = tensorflow.Variable(1.0)
    tensorflow.compat.v2.saved_model.save(module, bare)
    with pytest.raises(gg.SaliencyError, match="has no signature, so nothing says what its input is: save it with signatures="):
        gg.saliency.load(bare)
    with h5py.File(str(tmp_path / "table.h5"), "w") as file:
        file["table"] = np.ones(3)
    with pytest.raises(gg.SaliencyError, match="Keras of TensorFlow .* cannot load .*table.h5: "):
        gg.saliency.load(str(tmp_path / "table.h5"))


def test_a_saved_model_without_signatures(tmp_path):
    """Of a graph of TensorFlow 1 the input and the output are found, as in a frozen one."""
    path = str(tmp_path / "saved")
    with tf.Graph().as_default(), tf.Session() as session:
        session_net()
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(session, ["serve"])
        builder.save()
    with gg.saliency.load(path) as model:
        assert repr(model) == "Model(x='x:0', y='y:0')"
        assert_close(gg.saliency.guided_backprop(model.y, model.x, 1)(model.session, X), guided(1))


def frozen(folder, build):
    with tf.Graph().as_default() as graph:
        build()
    return write(str(folder), "model.pb", graph.as_graph_def().SerializeToString())


def test_a_graph_that_is_not_frozen(tmp_path):
    """The variables are named."""
    with pytest.raises(gg.SaliencyError, match=r"has variables in it \(w, u, v\), so it is not frozen"):
        gg.saliency.load(frozen(tmp_path, session_net))


def test_candidates(tmp_path):
    """Two inputs, two outputs: listed with dtypes and shapes; named, with or without :0, they are taken."""
    def build():
        a = tf.placeholder(tf.float32, [None, 4], name="a")
        b = tf.placeholder(tf.float32, [None, 2], name="b")
        tf.nn.relu(tf.matmul(a, W), name="left")
        tf.nn.relu(a, name="right")
        tf.nn.relu(b, name="other")

    path = frozen(tmp_path, build)
    with pytest.raises(gg.SaliencyError, match=r"has 2 inputs: choose one with x=. There are "
                                               r"a:0 \(float32 \[\?, 4\]\), b:0 \(float32 \[\?, 2\]\)\."):
        gg.saliency.load(path)
    with pytest.raises(gg.SaliencyError, match=r"has 2 outputs: choose one with y=. There are left:0 .*, right:0"):
        gg.saliency.load(path, x="a")
    assert repr(gg.saliency.load(path, x="b:0")) == "Model(x='b:0', y='other:0')"
    assert repr(gg.saliency.load(path, y="left")) == "Model(x='a:0', y='left:0')"
    with pytest.raises(gg.SaliencyError, match="no tensor 'rigth'. Did you mean 'right:0'"):
        gg.saliency.load(path, x="a", y="rigth")


def test_an_input_that_has_a_default(tmp_path):
    """It is found where there is no other, and said to be of any shape where nothing is known of that."""
    def build():
        x = tf.placeholder_with_default(tf.zeros([1, 4]), [None, 4], name="x")
        tf.matmul(tf.nn.relu(x), W, name="y")

    assert repr(gg.saliency.load(frozen(tmp_path, build))) == "Model(x='x:0', y='y:0')"

    def two():
        tf.nn.relu(tf.placeholder(tf.float32, name="a"))
        tf.nn.relu(tf.placeholder(tf.float32, [4], name="b"))

    with pytest.raises(gg.SaliencyError, match=r"There are a:0 \(float32 of any shape\), b:0 \(float32 \[4\]\)"):
        gg.saliency.load(frozen(tmp_path, two))


def test_a_model_without_floating_inputs(tmp_path):
    """Nothing can be differentiated with respect to text; there is nothing behind it to take."""
    with pytest.raises(gg.SaliencyError, match=r"no floating input that could be found: name a tensor with x=") as caught:
        gg.saliency.load(frozen(tmp_path, lambda: tf.strings.length(tf.placeholder(tf.string, [None], name="words"))))
    assert "such as" not in str(caught.value)


def test_an_integer_input(tmp_path):
    """Pixels as bytes: said, and the float tensor behind them can be named."""
    def build():
        pixels = tf.placeholder(tf.uint8, [None, 4], name="pixels")
        tf.nn.relu(tf.cast(pixels, tf.float32, name="scaled") * 2.0, name="out")

    path = frozen(tmp_path, build)
    with pytest.raises(gg.SaliencyError, match=r"no floating input .*; it has pixels:0 \(uint8 \[\?, 4\]\).* behind, such as scaled:0"):
        gg.saliency.load(path)
    assert repr(gg.saliency.load(path, x="scaled")) == "Model(x='scaled:0', y='out:0')"


def test_an_operation_that_this_tensorflow_lacks(tmp_path):
    """The operation is named."""
    definition = tf.GraphDef()
    definition.node.add(name="x", op="NoSuchOperation")
    path = write(str(tmp_path), "model.pb", definition.SerializeToString())
    with pytest.raises(gg.SaliencyError, match="cannot read the graph of .*NoSuchOperation"):
        gg.saliency.load(path)


def test_gradients_of_another_process(tmp_path):
    """A saved tag that means nothing here is dropped and said; one that is registered is honoured."""
    def build():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.get_default_graph().gradient_override_map({"Relu": "OfAnotherProcess", "Relu6": "CustomGradient-3",
                                                           "Sigmoid": "graphgrad.deconvnet"}):
            tf.nn.sigmoid(tf.nn.relu6(tf.nn.relu(x, name="one"), name="two"), name="three")

    assert gg.rules.deconvnet
    with gg.saliency.load(frozen(tmp_path, build)) as model:
        assert model.notes == [
            "'OfAnotherProcess' as the gradient of 1 operations (one) is not in the model: they have the ordinary gradient of what they compute.",
            "A tf.custom_gradient as the gradient of 1 operations (two) is not in the model: they have the ordinary gradient of what they compute."]
        maps = gg.saliency.gradient(model.y, model.x)(model.session, [[1.0, -1.0]])
    assert maps.tolist() == [[1.0, 0.0]]


def test_gradients_of_another_process_in_a_saved_model(tmp_path):
    """The number of a tf.custom_gradient may be that of another one in this process: never taken from a file."""
    path = str(tmp_path / "saved")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with graph.gradient_override_map({"Relu": "CustomGradient-1"}):
            y = tf.nn.relu(x)
        tf.saved_model.simple_save(session, path, {"in": x}, {"out": y})
    with gg.saliency.load(path) as model:
        assert len(model.notes) == 1 and model.notes[0].startswith("A tf.custom_gradient as the gradient of 1 operations (Relu)")
        assert gg.saliency.gradient(model.y, model.x)(model.session, [[1.0, -1.0]]).tolist() == [[1.0, 0.0]]


def test_a_loop_in_a_loaded_model(tmp_path):
    """Its ordinary gradient is there; guided backprop, which on() could not bring into it, is refused, not left out."""
    def build():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.identity(tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, 2.0 * tf.nn.relu(h)), (0, x),
                                  maximum_iterations=2)[1], name="y")

    was_on = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        path = frozen(tmp_path, build)
    finally:
        if not was_on:
            tf.disable_control_flow_v2()
    with gg.saliency.load(path, y="y") as model:
        assert gg.saliency.gradient(model.y, model.x)(model.session, [[1.0, -1.0]]).tolist() == [[4.0, 0.0]]
        with pytest.raises(gg.OverrideError, match="on\\(\\) cannot reach"):
            gg.saliency.guided_backprop(model.y, model.x)


def test_methods_built_after_a_loop_ran():
    """A recurrent Keras model: one method after the other, each in a Session that never ran the loop before."""
    keras = tensorflow.keras
    with tf.Graph().as_default() if TF1 else contextlib.ExitStack():    # 1.15 cannot differentiate a loop it imported
        network = keras.Sequential([keras.layers.Input((6, 4)), keras.layers.LSTM(5), keras.layers.Dense(3)])
        random = np.random.RandomState(3)
        network.set_weights([0.3 * random.randn(*weights.shape) for weights in network.get_weights()])
    images = random.randn(2, 6, 4)
    with gg.saliency.load(network) as model:
        first = gg.saliency.gradient_times_input(model.y, model.x, 1)(model.session, images)
        method = gg.saliency.integrated_gradients(model.y, model.x, 1, steps=20)
        assert method(model.session, images).shape == first.shape
        assert np.abs(method.gap).max() < 1e-4


def test_an_embedding_cannot_be_frozen_on_1_15():
    """Of an eager model: the way out is named. Later TensorFlows freeze it."""
    keras = tensorflow.keras
    network = keras.Sequential([keras.layers.Input((6,), dtype="int32"), keras.layers.Embedding(10, 4), keras.layers.Flatten(),
                                keras.layers.Dense(3)])
    text = "1.15.* cannot freeze the model: .*Build it in a tf.Graph" if TF1 else "no floating input"
    with pytest.raises(gg.SaliencyError, match=text):
        gg.saliency.load(network)


def test_a_text():
    """Words are integers: the message names their embeddings, which are computed by the model and fed as x."""
    keras = tensorflow.keras
    with tf.Graph().as_default() if TF1 else contextlib.ExitStack():    # 1.15 cannot freeze an embedding
        network = keras.Sequential([keras.layers.Input((6,), dtype="int32"), keras.layers.Embedding(10, 4),
                                    keras.layers.Conv1D(5, 3, activation="relu"), keras.layers.GlobalMaxPooling1D(),
                                    keras.layers.Dense(3, activation="softmax")])
    with pytest.raises(gg.SaliencyError, match=r"no floating input .*\(int32 \[\?, 6\]\).*such as \S+ \(float32 \[\?, 6, 4\]\)") as caught:
        gg.saliency.load(network)
    name = str(caught.value).split("such as ")[1].split()[0]
    words = np.array([[1, 2, 3, 4, 5, 6], [0, 0, 7, 8, 9, 1]])
    with gg.saliency.load(network, x=name) as model:
        placeholder = str(caught.value).split("it has ")[1].split()[0]
        embedded = model.session.run(model.x, {placeholder: words})
        method = gg.saliency.deeplift(model.y, model.x, "top")
        assert method(model.session, embedded).shape == (2, 6, 4)
        np.testing.assert_allclose(method.gap, 0, atol=1e-6)
        assert gg.saliency.grad_cam(model.y, model.x, "top")(model.session, embedded).shape == (2, 6)


def test_signatures_and_tags(folder):
    """A SavedModel's signature and tags that are not there: those that are, are listed."""
    path = save_session_model(os.path.join(folder, "again"))
    with pytest.raises(gg.SaliencyError, match="has no signature 'predict'; there are serving_default"):
        gg.saliency.load(path, signature="predict")
    with pytest.raises(gg.SaliencyError, match=r"has no graph with the tags \['train'\]; there are \['serve'\]"):
        gg.saliency.load(path, tags="train")
    named = gg.saliency.load(path, signature="serving_default", tags="serve", y="y")   # before the signature's softmax
    assert (named.x.op.name, named.y.op.name) == ("x", "y")
    several = os.path.join(folder, "several")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = session_net()
        session.run(tf.global_variables_initializer())
        info = tf.saved_model.build_signature_def({"x": tf.saved_model.build_tensor_info(x)}, {"y": tf.saved_model.build_tensor_info(y)})
        for names in (["one"], ["one", "two"]):
            builder = tf.saved_model.Builder(several + str(len(names)))
            builder.add_meta_graph_and_variables(session, ["serve"], {name: info for name in names})
            builder.save()
    assert repr(gg.saliency.load(several + "1")) == "Model(x='x:0', y='y:0')"
    with pytest.raises(gg.SaliencyError, match="has several signatures: choose one; there are one, two"):
        gg.saliency.load(several + "2")


def test_what_is_no_keras_model():
    """A function has no inputs to trace it for."""
    with pytest.raises(gg.SaliencyError, match="takes a path or a Keras model that was built"):
        gg.saliency.load(lambda x: x)
