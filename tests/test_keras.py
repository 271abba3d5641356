"""Form 3 on Keras models: Keras 3 on TF 2.21, Keras 2 on 2.15, tf.keras on 1.15 (design 4.8).

The reference is the same model rewritten by hand with ``tf.custom_gradient``, run in a tf.function as the
override runs it: equal to the last bit.
"""
import importlib
import os
import sys

import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf

import graphgrad as gg

keras = tensorflow.keras
layers = keras.layers
pytestmark = pytest.mark.filterwarnings("ignore:Do not pass an `input_shape`:UserWarning", "ignore::ResourceWarning")

SHAPE = (8, 8, 1)
IMAGES = np.random.RandomState(0).randn(3, *SHAPE).astype(np.float32)


def guided(op, grad):
    return tensorflow.where((grad > 0) & (op.inputs[0] > 0), grad, tensorflow.zeros_like(grad))


@tensorflow.custom_gradient
def guided_relu(x):
    y = tensorflow.nn.relu(x)
    return y, lambda grad: tensorflow.where((grad > 0) & (x > 0), grad, tensorflow.zeros_like(grad))


class GuidedRelu(layers.Layer):
    def call(self, x):
        return guided_relu(x)


# name -> (an activation as users write it, the same by hand)
ACTIVATIONS = {
    "string": (lambda: layers.Activation("relu"), lambda: layers.Activation(guided_relu)),
    "layer": (layers.ReLU, GuidedRelu),
    "function": (lambda: layers.Activation(tensorflow.nn.relu), lambda: layers.Activation(guided_relu)),
    "lambda": (lambda: layers.Lambda(lambda x: tensorflow.nn.relu(x)), lambda: layers.Lambda(guided_relu)),
}


def stack(activation):
    return [layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(), activation(), layers.MaxPool2D(2),
            layers.Conv2D(4, 3, padding="same"), activation(), layers.Flatten(), layers.Dense(6), activation(), layers.Dense(2)]


def sequential(activation):
    return keras.Sequential([layers.InputLayer(SHAPE)] + stack(activation))


def functional(activation):
    image = y = keras.Input(SHAPE)
    for layer in stack(activation):
        y = layer(y)
    return keras.Model(image, y)


def nested(activation):
    parts = stack(activation)
    image = keras.Input(SHAPE)
    return keras.Model(image, keras.Sequential(parts[6:])(keras.Sequential(parts[:6])(image)))


class Subclassed(keras.Model):
    def __init__(self, activation):
        super().__init__()
        self.parts = stack(activation)

    def call(self, x, training=False):
        for part in self.parts:
            x = part(x, training=training) if isinstance(part, layers.BatchNormalization) else part(x)
        return x


def subclassed(activation):
    model = Subclassed(activation)
    model(IMAGES)
    return model


FORMS = {"sequential": sequential, "functional": functional, "nested": nested, "subclassed": subclassed}


def with_weights(model):
    random = np.random.RandomState(1)
    model.set_weights([np.abs(w) + 0.5 if w.ndim == 1 else random.randn(*w.shape).astype(w.dtype) for w in model.get_weights()])
    return model


def input_gradient(model, **arguments):
    x = tensorflow.constant(IMAGES)
    with tensorflow.GradientTape() as tape:
        tape.watch(x)
        y = model(x, **arguments)
    return tape.gradient(y, x).numpy()


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("form", sorted(FORMS))
def test_equal_to_a_model_rewritten_by_hand(form, activation):
    """Also of a model that was traced and differentiated before, and in training; the model itself stays ordinary."""
    theirs, by_hand = ACTIVATIONS[activation]
    model, rewritten = with_weights(FORMS[form](theirs)), with_weights(FORMS[form](by_hand))
    ordinary = input_gradient(model)
    override = gg.override_gradients({"Relu": guided})
    guided_model = override(model)
    want = input_gradient(tensorflow.function(lambda x: rewritten(x)))
    assert (input_gradient(guided_model) == want).all()
    assert np.abs(ordinary - want).max() > 0.1
    assert len(override.report["Relu"].differentiated) == 3
    assert (input_gradient(model) == ordinary).all()
    want = input_gradient(tensorflow.function(lambda x: rewritten(x, training=True)))
    assert (input_gradient(guided_model, training=True) == want).all()


@pytest.mark.parametrize("kind", ["LeakyReLU", "PReLU", "relu6"])
def test_other_activation_layers(kind):
    """What op an activation layer is made of is Keras's affair: the preset covers it, or says that it does not."""
    layer = {"LeakyReLU": layers.LeakyReLU, "PReLU": layers.PReLU,
             "relu6": lambda: layers.ReLU(max_value=6.0)}[kind]()
    model = keras.Sequential([layers.InputLayer((2,)), layer])
    override = gg.guided_backprop()
    x = tensorflow.constant([[-3.0, 8.0]])
    with tensorflow.GradientTape() as tape:
        tape.watch(x)
        loss = tensorflow.reduce_sum(-override(model)(x))
    assert tape.gradient(loss, x).numpy().tolist() == [[0.0, 0.0]]   # guided: nothing of a negative gradient passes
    assert len(override.report.differentiated) >= 1


class PReLUByHand(layers.PReLU):
    """Keras's own formula, with every tf.nn.relu replaced."""

    def call(self, x):
        return guided_relu(x) - self.alpha * guided_relu(-x)


@tensorflow.custom_gradient
def guided_leaky_relu(x):
    y = tensorflow.nn.leaky_relu(x, 0.25)
    return y, lambda grad: tensorflow.where(grad > 0, tensorflow.where(x > 0, grad, 0.25 * grad), tensorflow.zeros_like(grad))


@pytest.mark.parametrize("kind", ["LeakyReLU", "PReLU"])
def test_layers_with_a_slope_equal_to_those_rewritten_by_hand(kind):
    """Keras makes PReLU of two Relus, and each is guided by what reaches it: -slope * g, for the negative one. As by hand."""
    slope = keras.initializers.Constant(0.25)
    key = "alpha" if TF1 or not hasattr(layers.LeakyReLU(), "negative_slope") else "negative_slope"
    theirs, by_hand = {
        "LeakyReLU": (layers.LeakyReLU(**{key: 0.25}), layers.Activation(guided_leaky_relu)),
        "PReLU": (layers.PReLU(slope), PReLUByHand(slope))}[kind]
    x, grad = np.random.RandomState(0).randn(2, 2, 6).astype(np.float32)
    x = tensorflow.constant(x)

    def gradient(call, layer):
        with tensorflow.GradientTape() as tape:
            tape.watch(x)
            y = call(layer)(x) * grad
        return tape.gradient(y, x).numpy()

    got = gradient(gg.guided_backprop(), keras.Sequential([layers.InputLayer((6,)), theirs]))
    want = gradient(lambda layer: tensorflow.function(lambda x: layer(x)), by_hand)
    assert (got == want).all()
    assert (got != gradient(lambda layer: layer, theirs)).any()


def test_the_network_of_the_question(monkeypatch):
    """Seven blocks of Conv, BatchNormalization and ReLU, pooling, Dense: eagerly, against its second answer."""
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "legacy_examples"))
    question = importlib.import_module("002_guided_backprop_keras")
    images = tensorflow.constant(np.random.RandomState(0).rand(1, question.SIZE, question.SIZE, 3).astype(np.float32))
    model = question.network()
    override = gg.override_gradients({"Relu": "GuidedRelu"})
    ordinary = question.gradient(model, images, "ordinary").numpy()
    got = question.gradient(override(model), images, "guided").numpy()
    assert len(override.report["Relu"].differentiated) == 9
    for layer in model.layers:
        if getattr(layer, "activation", None) == keras.activations.relu:
            layer.activation = question.guidedRelu
    want = question.gradient(tensorflow.function(lambda x, training: model(x, training=training)), images, "by_hand").numpy()
    assert (got == want).all() and (got != ordinary).any()


def test_a_model_whose_call_is_a_traced_function():
    """tf.function around call, traced and differentiated before; afterwards it is as it was."""
    class Traced(keras.Model):
        @tensorflow.function
        def call(self, x):
            return tensorflow.nn.relu(x)

    model = Traced()
    outer = tensorflow.function(lambda x: model(x))
    ordinary = [input_gradient(model), input_gradient(outer)]
    override = gg.override_gradients({"Relu": lambda op, grad: 0.0 * grad + 42.0})
    for function in (model, outer):
        assert (input_gradient(override(function)) == 42.0).all()
    assert all((one == (IMAGES > 0)).all() for one in ordinary + [input_gradient(model), input_gradient(outer)])


def test_in_a_graph_of_version_1():
    """Keras in a v1 graph, called in a with block and through the override."""
    with tf.Graph().as_default():
        x = tf.constant(IMAGES)
        model = sequential(ACTIVATIONS["string"][0])
        override = gg.override_gradients({"Relu": guided})
        with override:
            y = model(x)
        called = override(model)(x)
        gradients = [tf.gradients(y, x)[0], tf.gradients(called, x)[0], tf.gradients(model(x), x)[0]]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            if not TF1 and not hasattr(model, "train_tf_function"):   # Keras 3 initialises its variables by itself
                for variable in model.variables:
                    session.run(variable.value.initializer if hasattr(variable, "value") else variable.initializer)
            inside, through, ordinary = session.run(gradients)
    assert (inside == through).all()
    assert np.abs(inside - ordinary).max() > 0


@tensorflow.custom_gradient
def straight_through_sign(x):
    return tensorflow.sign(x), lambda grad: grad


DATA = np.random.RandomState(2).randn(64, 4).astype(np.float32)
TARGETS = (DATA.sum(axis=1, keepdims=True) > 0).astype(np.float32)


def trainable(activation, **options):
    model = keras.Sequential([layers.InputLayer((4,)), layers.Dense(8), layers.Activation(activation), layers.Dense(1)])
    random = np.random.RandomState(3)
    model.set_weights([random.randn(*w.shape).astype(np.float32) for w in model.get_weights()])
    model.compile(keras.optimizers.SGD(0.05), "mse", **options)
    return model


def trained(model, method="fit", owner=None):
    options = dict(epochs=2, batch_size=16, shuffle=False, verbose=0) if method == "fit" else {}
    getattr(owner or model, method)(DATA, TARGETS, **options)
    return model.get_weights()


def test_a_lambda_is_skipped_in_backprop():
    """Executed forward, skipped backward, trained by fit(): as the layer written by hand; and one that changes the shape."""
    skipped, by_hand = [trained(trainable(activation)) for activation in (gg.ops.skip_gradient(tensorflow.sign), straight_through_sign)]
    assert all((one == other).all() for one, other in zip(skipped, by_hand))
    image = keras.Input((6,))
    halves = layers.Lambda(gg.ops.skip_gradient(lambda x: tensorflow.reshape(tensorflow.square(x), [-1, 2, 3])))(image)
    model = keras.Model(image, halves)
    x = tensorflow.constant([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    grad = np.arange(6.0).reshape(1, 2, 3).astype(np.float32)
    with tensorflow.GradientTape() as tape:
        tape.watch(x)
        loss = tensorflow.reduce_sum(model(x) * grad)
    assert tape.gradient(loss, x).numpy().tolist() == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]


@pytest.mark.parametrize("method", ["fit", "train_on_batch"])
@pytest.mark.parametrize("options", [{}, {"jit_compile": True}], ids=["plain", "jit"])
def test_training_under_an_override(method, options):
    """Straight-through training by fit(): bit for bit what a model rewritten by hand learns; afterwards as before."""
    if TF1:
        with pytest.raises(gg.OverrideError, match=r"cannot be put under an override: build the model in a graph"):
            gg.straight_through("Sign")(keras.Sequential([layers.Dense(1)])).fit(DATA, TARGETS)
        return
    ours = trainable(tensorflow.sign, **options)
    start = ours.get_weights()
    ordinary = trained(ours, method)   # traced without the override
    ours.set_weights(start)
    override = gg.straight_through("Sign")
    learnt = trained(ours, method, override(ours))
    want = trained(trainable(straight_through_sign, **options), method)
    assert all((one == other).all() for one, other in zip(learnt, want))
    assert max(np.abs(one - other).max() for one, other in zip(learnt, ordinary)) > 0.01
    assert len(override.report["Sign"].differentiated) == 1
    ours.set_weights(start)
    np.testing.assert_allclose(trained(ours, method)[0], ordinary[0], rtol=1e-6)


def test_saved_loaded_and_cloned(tmp_path):
    """A model that was called under an override is the plain model: its weights, file and clone too."""
    model = with_weights(sequential(ACTIVATIONS["string"][0]))
    guided_model = gg.override_gradients({"Relu": guided})(model)
    want, ordinary = input_gradient(guided_model), input_gradient(model)
    path = str(tmp_path / ("model.h5" if TF1 else "model.keras"))
    guided_model.save(path)
    loaded = keras.models.load_model(path, compile=False)
    clone = keras.models.clone_model(model)
    clone.set_weights(guided_model.get_weights())
    again = sequential(ACTIVATIONS["string"][0])
    weights = str(tmp_path / "model.weights.h5")
    guided_model.save_weights(weights)
    gg.override_gradients({"Relu": guided})(again).load_weights(weights)
    for copy in (loaded, clone, again):
        assert (input_gradient(copy) == ordinary).all()
        assert (input_gradient(gg.override_gradients({"Relu": guided})(copy)) == want).all()


def test_call_and_concrete_functions_are_under_the_override_too():
    """No way around: what is passed through is what does not differentiate."""
    model = with_weights(functional(ACTIVATIONS["string"][0]))
    override = gg.override_gradients({"Relu": guided})
    want = input_gradient(override(model))
    assert (input_gradient(override(model).call) == want).all()
    function = tensorflow.function(lambda x: model(x))
    concrete = override(function).get_concrete_function(tensorflow.TensorSpec([None] + list(SHAPE), tensorflow.float32))
    assert (input_gradient(concrete) == want).all()
    assert override(model).count_params() == model.count_params()


if not TF1:   # 1.15's mixed precision needs a GPU, and its tf.function has no XLA in this form
    def test_mixed_precision():
        """float16 activations: the gradient function gets and gives float16."""
        keras.mixed_precision.set_global_policy("mixed_float16")
        try:
            model = with_weights(sequential(ACTIVATIONS["string"][0]))
            rewritten = with_weights(sequential(ACTIVATIONS["string"][1]))
        finally:
            keras.mixed_precision.set_global_policy("float32")
        dtypes = []

        def rule(op, grad):
            dtypes.append(grad.dtype)
            return guided(op, grad)

        got = input_gradient(gg.override_gradients({"Relu": rule})(model))
        assert (got == input_gradient(tensorflow.function(lambda x: rewritten(x)))).all()
        assert set(dtypes) == {tensorflow.float16}

    def test_compiled_by_xla():
        """A tf.function with jit_compile=True, inside an override and around one."""
        x = tensorflow.constant([-1.0, 2.0])

        def rule(op, grad):
            return 0.0 * grad + 42.0

        override = gg.override_gradients({"Relu": rule})
        inside = override(tensorflow.function(tensorflow.nn.relu, jit_compile=True))
        around = tensorflow.function(override(tensorflow.nn.relu), jit_compile=True)
        for function in (inside, around):
            with tensorflow.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            assert tape.gradient(y, x).numpy().tolist() == [42.0, 42.0]

    def test_run_eagerly_is_refused():
        with pytest.raises(gg.OverrideError, match="run_eagerly=True cannot be trained under an override"):
            gg.straight_through("Sign")(trainable(tensorflow.sign, run_eagerly=True)).fit(DATA, TARGETS, verbose=0)


WITHHELD = [
    ("output", "was built without the override: call override"), ("outputs", "was built without the override"),
    ("train_step", "would train without the override: use fit"), ("make_train_function", "would train without the override"),
    ("export", "would write the model without the override: call override.model. in a tf.function of a tf.Module")]


@pytest.mark.parametrize("name, text", [row for row in WITHHELD if hasattr(keras.Model, row[0])])
def test_what_would_be_ordinary_is_refused(name, text):
    """These are of the model as it was built."""
    model = functional(ACTIVATIONS["string"][0])
    with pytest.raises(gg.OverrideError, match=text):
        getattr(gg.guided_backprop()(model), name)


if not TF1:   # 1.15's symbolic Keras tensors are tensors of a graph
    @pytest.mark.parametrize("eager", [True, False], ids=["eager", "graph"])
    def test_a_symbolic_keras_tensor_is_refused(eager):
        """A functional model of it would call the layers again, without the override; a Lambda does not."""
        model = sequential(ACTIVATIONS["string"][0])
        override = gg.override_gradients({"Relu": guided})
        image = keras.Input(SHAPE)
        with pytest.raises(gg.OverrideError, match="called with a symbolic Keras tensor.*layers.Lambda"):
            if eager:
                override(model)(image)
            else:
                with tf.Graph().as_default():
                    override(model)(image)
        wrapped = keras.Sequential([layers.InputLayer(SHAPE), layers.Lambda(override(model))])
        assert (input_gradient(wrapped) == input_gradient(override(model))).all()
        assert (input_gradient(wrapped) != input_gradient(model)).any()


def test_what_is_no_tensor_is_refused():
    thing = object()
    with pytest.raises(gg.OverrideError, match="returned <object object.*which is no tensor"):
        gg.override_gradients({"Relu": guided})(lambda x: (tensorflow.nn.relu(x), thing))(tensorflow.constant([1.0]))


if hasattr(sys.modules.get("keras"), "config"):   # Keras 3 can compute with others than TensorFlow
    def test_another_backend_is_refused(monkeypatch):
        model = keras.Sequential([layers.Dense(1)])
        monkeypatch.setattr(sys.modules["keras"].config, "backend", lambda: "jax")
        with pytest.raises(gg.OverrideError, match="computes with the backend jax.*KERAS_BACKEND=tensorflow"):
            gg.guided_backprop()(model)
