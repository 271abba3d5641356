"""Form 3, ``override(callable)`` (design 4.8)."""
import inspect

import pytest
import tensorflow
from conftest import tf
from test_overrides import forty_two

import graphgrad as gg


def gradient(function, *arguments, **keywords):
    """By an eager tape, in the first argument."""
    x = tensorflow.constant(arguments[0])
    with tensorflow.GradientTape() as tape:
        tape.watch(x)
        y = function(x, *arguments[1:], **keywords)
    return tape.gradient(y, x).numpy().tolist()


def test_4_8_a_plain_function_in_eager_mode():
    """The tape outside finds the overridden gradient, and the report the proof."""
    override = gg.override_gradients({"Relu": forty_two})
    assert gradient(override(tf.nn.relu), [-1.0, 2.0]) == [42.0, 42.0]
    assert gradient(tf.nn.relu, [-1.0, 2.0]) == [0.0, 1.0]
    assert len(override.report.differentiated) == 1


@pytest.mark.filterwarnings("error::graphgrad.OverrideWarning")
def test_4_8_a_warning_made_an_error_comes_out_as_what_it_is():
    """Not as autograph's StagingError, which no ``except OverrideWarning`` catches."""
    override = gg.override_gradients({"Relu": forty_two})
    with pytest.raises(gg.OverrideWarning, match="'Relu' matched no operation built in the block"):
        override(lambda x: tensorflow.sin(x))(tensorflow.constant([1.0]))


def test_4_8_a_traced_tf_function():
    """A tf.function that was traced and differentiated before, and is the same to others afterwards."""
    function = tensorflow.function(lambda x: tf.nn.relu(x), autograph=False)
    assert gradient(function, [-1.0, 2.0]) == [0.0, 1.0]
    assert gradient(gg.override_gradients({"Relu": forty_two})(function), [-1.0, 2.0]) == [42.0, 42.0]
    assert gradient(function, [-1.0, 2.0]) == [0.0, 1.0]


def test_4_8_in_a_graph():
    """In a v1 graph the call is a with block."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-1.0, 2.0])
        y = gg.override_gradients({"Relu": forty_two})(tf.nn.relu)(x)
        assert session.run(tf.gradients(y, x)[0]).tolist() == [42.0, 42.0]


def test_4_8_signature_nested_outputs_and_python_arguments():
    """Signature, dict outputs and keyword arguments are the callable's own."""
    def model(x, scale=1.0, training=False):
        """Scale."""
        return {"y": tf.nn.relu(x) * scale, "pair": (x, [x if training else -x])}

    called = gg.override_gradients({"Relu": forty_two})(model)
    assert inspect.signature(called) == inspect.signature(model)
    assert (called.__name__, called.__doc__) == ("model", "Scale.")
    out = called(tensorflow.constant([1.0]), training=True)
    assert out["pair"][1][0].numpy().tolist() == [1.0] and out["y"].numpy().tolist() == [1.0]
    assert called(tensorflow.constant([1.0]), scale=2.0)["y"].numpy().tolist() == [2.0]


def test_4_8_no_retrace_with_the_same_signature():
    """Traced once for a thousand calls."""
    traces = []

    def model(x):
        traces.append(1)
        return tf.nn.relu(x)

    called = gg.override_gradients({"Relu": forty_two})(model)
    called(tensorflow.constant([1.0]))
    first = len(traces)
    for _ in range(1000):
        called(tensorflow.constant([2.0]))
    assert len(traces) == first <= 2


def test_4_8_what_cannot_be_called_is_refused():
    """One sentence."""
    with pytest.raises(gg.OverrideError, match="called with a model or function, not with 3"):
        gg.override_gradients({"Relu": forty_two})(3)


def test_what_returns_no_tensor_is_refused():
    """In eager mode the call is one tf.function, which would hand on a Python object of its tracing."""
    with pytest.raises(gg.OverrideError, match="<lambda> \\(.*test_called.py:\\d+\\) returned .*, which is no tensor: in eager"):
        gg.override_gradients({"Relu": forty_two})(lambda x: (tf.nn.relu(x), object())[1])(tensorflow.constant([1.0]))


def test_what_may_be_beside_tensors():
    """None, sparse tensors and rows are handed on."""
    override = gg.override_gradients({"Relu": forty_two})
    x = tensorflow.constant([1.0, 0.0])
    none, sparse, rows = override(lambda x: (None, tensorflow.sparse.from_dense(tf.nn.relu(x)), tensorflow.IndexedSlices(
        tf.nn.relu(x), tensorflow.constant([0, 1]))))(x)
    assert none is None and sparse.values.numpy().tolist() == [1.0] and rows.values.numpy().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("attribute", ["fit", "trainable_weights"])
def test_what_has_one_thing_of_a_keras_model_is_none(attribute):
    """An estimator's ``output`` is its own affair."""
    kind = type("Estimator", (), {attribute: None, "output": 3, "__call__": lambda self, x: tf.nn.relu(x)})
    assert gg.override_gradients({"Relu": forty_two})(kind()).output == 3


def test_the_wrapper_says_what_it_wraps():
    """The repr, and a callable whose signature Python cannot read."""
    class Odd:
        __signature__ = "none"

        def __call__(self, x):
            return tf.nn.relu(x)

        def fit(self):
            raise AssertionError("ordinary gradients")

        def __repr__(self):
            return "Odd()"

    wrapped = gg.override_gradients({"Relu": forty_two})(Odd())
    assert repr(wrapped).startswith("Odd() under Override(Relu -> ")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-1.0, 2.0])
        assert session.run(tf.gradients(wrapped(x), x)[0]).tolist() == [42.0, 42.0]
    with pytest.raises(gg.OverrideError, match="fit\\(\\) of this Keras.*cannot be put under an override: build the model in a graph"):
        wrapped.fit()
