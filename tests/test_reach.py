"""How far an override reaches: whatever builds operations at one remove. Right, refused or told; never ordinary in silence.

The override returns 42 where the gradient of Relu at [-1, 2] is [0, 1]. What differs between TensorFlows is said.
Defun, recompute_grad in a block and imported loops: test_overrides.py; XLA in eager mode: test_keras.py.
"""
import importlib
import os

import pytest
import tensorflow
from conftest import TF1, tf
from tensorflow.python.compiler.xla import jit, xla   # public in no version
from tensorflow.python.ops import rnn_cell_impl   # tf.nn.rnn_cell, which Keras 3 took away

import graphgrad as gg

X = [-1.0, 2.0]
FORTY_TWO = [42.0, 42.0]
ORDINARY = [0.0, 1.0]
relu = tf.nn.relu


def forty_two(op, grad):
    return 0.0 * grad + 42.0


@tf.custom_gradient
def by_hand(x):
    return relu(x), lambda grad: 0.0 * grad + 42.0


def override():
    return gg.override_gradients({"Relu": forty_two})


def under_block(x):
    with override():
        return relu(x)


def function(body):
    return tensorflow.function(body, autograph=False)


@pytest.fixture
def x(graph):
    return tf.constant(X)


# --- Loops, branches and functions in each other -----------------------------------------------------------

def once(body, x):
    return tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, body(y)), [0, x])[1]


def branch(body, x):
    return tf.cond(tf.reduce_sum(x) > -5.0, lambda: body(x), lambda: x)


NESTED = {
    "foldl": lambda x: tf.foldl(lambda a, y: a + relu(y), x, initializer=0.0),
    "foldr": lambda x: tf.foldr(lambda a, y: a + relu(y), x, initializer=0.0),
    "while while cond": lambda x: once(lambda y: once(lambda z: branch(relu, z), y), x),
    "cond cond while": lambda x: branch(lambda y: branch(lambda z: once(relu, z), y), x),
    "map_fn while cond": lambda x: tf.map_fn(lambda y: once(lambda z: branch(relu, z), y), x),
    "scan map_fn cond": lambda x: tf.scan(
        lambda _, row: tf.map_fn(lambda y: branch(relu, y), row), tf.reshape(x, [1, 2]), initializer=tf.zeros([2])),
    "function while function cond": lambda x: function(lambda a: once(lambda b: function(lambda c: branch(relu, c))(b), a))(x),
    "function function function": lambda x: function(lambda a: function(lambda b: function(relu)(b))(a))(x),
}


@pytest.mark.parametrize("body", sorted(NESTED))
def test_three_deep(body, control_flow, x, run):
    """In the block, through it, and ordinary outside of it."""
    with override() as entered:
        y = NESTED[body](x)
    assert run(tf.gradients(y, x)[0]).tolist() == FORTY_TWO
    assert len(entered.report["Relu"].differentiated) == 1
    assert run(tf.gradients(NESTED[body](x), x)[0]).tolist() == ORDINARY


if not TF1:   # a tf.function of 1.15 that calls itself waits for its own lock, with an override or without
    def test_recursion(x, run):
        """A tf.function that calls itself with another Python argument."""
        @function
        def countdown(y, number):
            return relu(y) if number == 0 else countdown(y, number - 1)

        with override():
            y = countdown(x, 3)
        assert run(tf.gradients(y, x)[0]).tolist() == FORTY_TWO
        assert run(tf.gradients(countdown(x, 3), x)[0]).tolist() == ORDINARY


# --- Recurrent networks ---------------------------------------------------------------------------------

def dynamic(cell, x):
    return tf.nn.dynamic_rnn(cell, tf.reshape(x, [1, 2, 1]), dtype=tf.float32)[0]


def static(cell, x):
    return tf.nn.static_rnn(cell, [tf.reshape(x, [2, 1])] * 2, dtype=tf.float32)[0][1]


@pytest.mark.parametrize("cell, rnn", [("GRUCell", dynamic), ("BasicLSTMCell", dynamic), ("BasicRNNCell", static), ("LSTMCell", static)])
@pytest.mark.filterwarnings("ignore:`layer.add_variable` is deprecated:UserWarning", "ignore:`tf.nn.rnn_cell:UserWarning")
def test_cells(cell, rnn, control_flow, x, run):
    """Equal to the cell whose activation is rewritten by hand, on the same weights."""
    def build(activation):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE, initializer=tf.constant_initializer(0.3)):
            return tf.gradients(rnn(getattr(rnn_cell_impl, cell)(2, activation=activation), x), x)[0]

    with override() as entered:
        got = build(relu)
    got, want, ordinary = run([got, build(by_hand), build(relu)])
    assert got.tolist() == want.tolist() != ordinary.tolist()
    assert sorted(entered.report["Relu"].tagged) == sorted(entered.report["Relu"].differentiated) != []


# --- Gradients of functions -----------------------------------------------------------------------------

@tf.custom_gradient
def three(x):
    return tf.identity(x), lambda grad: 3.0 * grad


@tf.custom_gradient
def around_a_block(x):
    y = under_block(x)
    return y, lambda grad: 2.0 * tf.gradients(y, x, grad)[0]


@tf.custom_gradient
def relu_in_backward(x):
    return tf.identity(x), lambda grad: relu(grad * x)


def test_a_custom_gradient_inside(x, run):
    """It keeps its own gradient; the Relu behind it has the override's, and so has one that is in its backward."""
    with override():
        y = relu(three(x))
        first = tf.gradients(relu_in_backward(x), x)[0]
    assert run(tf.gradients(y, x)[0]).tolist() == [126.0, 126.0]
    assert run(tf.gradients(first, x)[0]).tolist() == FORTY_TWO


def test_a_custom_gradient_around(control_flow, x, run):
    """Its own backward decides, and what it differentiates in there is under the block that it was built in."""
    ys = [around_a_block(x)]
    if control_flow == 2 and not TF1:   # elsewhere TensorFlow cannot differentiate in a loop what is in that loop
        ys.append(once(around_a_block, x))
    for y in ys:
        assert run(tf.gradients(y, x)[0]).tolist() == [84.0, 84.0]


def recomputed(body):
    """``tf.recompute_grad(body)``, which on 1.15 wants resource variables, used or not."""
    def call(x):
        with tf.variable_scope(tf.get_variable_scope(), use_resource=True):
            return tensorflow.recompute_grad(body)(x)

    return call


EAGER = {
    "recompute_grad of a block": (lambda x: function(recomputed(under_block))(x), FORTY_TWO),
    "recompute_grad of override(f)": (lambda x: recomputed(override()(relu))(x), FORTY_TWO),
    "override(recompute_grad)": (lambda x: override()(recomputed(relu))(x), FORTY_TWO),
    "override(custom_gradient)": (lambda x: override()(lambda y: relu(three(y)))(x), [126.0, 126.0]),
    "map_fn of override(f)": (lambda x: tensorflow.map_fn(override()(relu), x), FORTY_TWO),
    "while_loop of override(f)": (lambda x: tensorflow.while_loop(
        lambda i, y: i < 1, lambda i, y: (i + 1, override()(relu)(y)), [0, x])[1], FORTY_TWO),
}


@pytest.mark.parametrize("build, want", list(EAGER.values()), ids=list(EAGER))
def test_under_an_eager_tape(build, want):
    """Form 3 and TensorFlow's own wrappers of gradients, in each other."""
    x = tensorflow.constant(X)
    with tensorflow.GradientTape() as tape:
        tape.watch(x)
        y = build(x)
    assert tape.gradient(y, x).numpy().tolist() == want


if TF1:
    def test_vectorized_map(x):
        """1.15's converter takes no operation with an attribute that it does not know, and says so."""
        with pytest.raises(AssertionError, match="'Relu', '_gradient_op_type'"):
            with override():
                tensorflow.vectorized_map(relu, x)
else:
    VECTORIZED = {"Relu": relu, "loop": lambda y: once(relu, y), "tf.function": function(relu)}

    @pytest.mark.parametrize("body", sorted(VECTORIZED))
    def test_vectorized_map(body, x, run):
        """What it converts carries the override."""
        with override() as entered:
            y = tensorflow.vectorized_map(VECTORIZED[body], x)
        assert run(tf.gradients(y, x)[0]).tolist() == FORTY_TWO
        assert len(entered.report["Relu"].differentiated) == 1


# --- Data sets ------------------------------------------------------------------------------------------

def test_data_sets(x, run):
    """A gradient that is taken inside a map function is under the override; none comes out of a data set, as ever."""
    def gradient(y):
        return tf.gradients(relu(y), y)[0]

    with override() as entered:
        inside = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(X).map(gradient)).get_next()
    outside = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(X).map(gradient)).get_next()
    assert [value.tolist() for value in run([inside, outside])] == [FORTY_TWO, ORDINARY]
    assert len(entered.report["Relu"].differentiated) == 1
    with override() as entered:
        y = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensors(x).map(relu)).get_next()
    assert tf.gradients(y, x) == [None]
    assert entered.report["Relu"].tagged and not entered.report["Relu"].differentiated


# --- XLA and TPU ----------------------------------------------------------------------------------------

def test_jit_scopes(x, run):
    """The scope marks operations for XLA, and leaves the override on them."""
    with override(), jit.experimental_jit_scope():
        y = relu(x)
    assert run(tf.gradients(y, x)[0]).tolist() == FORTY_TWO


@pytest.mark.parametrize("compile", [lambda f, x: xla.compile(f, [x]), lambda f, x: tf.tpu.rewrite(f, [x])], ids=["xla.compile", "tpu.rewrite"])
def test_whole_computations(compile, x):
    """TensorFlow differentiates them inside only, and there the override is (on a TPU: by the graph, for want of one)."""
    with override() as entered:
        compile(lambda y: tf.gradients(relu(y), y)[0], x)
    assert len(entered.report["Relu"].differentiated) == 1
    with override():
        y = compile(relu, x)[0]
    with pytest.raises((RuntimeError, LookupError), match="is prohibited|TPUReplicatedOutput"):
        tf.gradients(y, x)


# --- No gradient ----------------------------------------------------------------------------------------

def test_what_not_differentiable_means(x, run, monkeypatch):
    """Not zeros, as an answer has it: None, beside which other paths count. And where there is no gradient, an error."""
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "legacy_examples"))
    question = importlib.import_module("003_skip_in_backprop")
    monkeypatch.setattr(question, "tf", tf)
    inner, found = question.without_gradient()
    for name in ("NoGradientOfMine", "ReturnsNone"):
        assert tf.gradients(found[name], inner) == [None]
    beside = [tf.gradients(found[name] + inner, inner)[0] for name in ("NoGradientOfMine", "ReturnsNone", "ReturnsZeros")]
    zeros = tf.gradients(found["ReturnsZeros"], inner)[0]
    assert [value.tolist() for value in run(beside + [zeros])] == [[[1.0] * 3]] * 3 + [[[0.0] * 3]]
    with pytest.raises(LookupError, match="op type: AdjustHue"):
        tf.gradients(found["never registered"], inner)
    assert ("cannot be built: operation 'adjust_hue/AdjustHue' (type AdjustHue) has no gradient registered. Register one: "
            "@graphgrad.register_gradient(NAME) and override_gradients({'AdjustHue': NAME})") in str(
                gg.diagnose(found["never registered"], inner))
