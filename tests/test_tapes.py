"""Tapes: GradientTape in every place, higher orders, jacobians, and forward mode (refused).

The rule is 3 * g * x where Square has 2 * g * x, so that the first derivative is 3x and the second 3: closed forms.
"""
import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf

import graphgrad as gg

X = [1.0, 2.0]
FIRST, SECOND = [3.0, 6.0], [3.0, 3.0]


def three_x(op, grad):
    return 3.0 * grad * op.inputs[0]


def override():
    return gg.override_gradients({"Square": three_x})


@pytest.fixture
def x():
    return tensorflow.constant(X)


def with_block(x):
    with override():
        return tensorflow.square(x)


def with_tf_func(x):
    return gg.tf_func_with_grad(tensorflow.square, [x], grad=three_x)


def with_py_func(x):
    return gg.py_func_with_grad(np.square, [x], tf.float32, grad=three_x, output_shapes=lambda x: x)


# What has the gradient 3x, by itself in eager mode or inside a tf.function.
EAGER = {"called": lambda x: override()(tensorflow.square)(x), "tf_func": with_tf_func, "py_func": with_py_func}
IN_GRAPH = dict(EAGER, block=with_block)
PLACES = [("eager", name) for name in sorted(EAGER)] + [("function", name) for name in sorted(IN_GRAPH)]


@pytest.fixture(params=PLACES, ids=["-".join(place) for place in PLACES])
def run(request, x):
    """Runs ``differentiate(square, x)`` eagerly, or as a tf.function; gives numpy."""
    where, name = request.param

    def run(differentiate):
        square = IN_GRAPH[name]
        call = differentiate if where == "eager" else tensorflow.function(differentiate, autograph=False)
        return [value.numpy().tolist() for value in call(square, x)]

    return run


@pytest.mark.parametrize("persistent", [False, True], ids=["once", "persistent"])
def test_a_tape(persistent, run):
    """Around what is overridden, in eager mode and in the same function."""
    def differentiate(square, x):
        with tensorflow.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = square(x)
        return [tape.gradient(y, x) for _ in range(2 if persistent else 1)]

    assert run(differentiate) == [FIRST] * (2 if persistent else 1)


def test_tapes_in_tapes(run):
    """The second derivative is the derivative of the rule."""
    def differentiate(square, x):
        with tensorflow.GradientTape() as outer:
            outer.watch(x)
            with tensorflow.GradientTape() as inner:
                inner.watch(x)
                y = square(x)
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    assert run(differentiate) == [FIRST, SECOND]


@pytest.mark.parametrize("pfor", [False, True], ids=["loop", "pfor"])
def test_jacobians(pfor, run, request):
    """Both of TensorFlow's ways to run a jacobian; a py_func has no vectorised form."""
    def differentiate(square, x):
        column = tensorflow.reshape(x, [2, 1])
        with tensorflow.GradientTape(persistent=True) as tape:
            tape.watch(x)
            tape.watch(column)
            y, y_column = square(x), square(column)
        return (tape.jacobian(y, x, experimental_use_pfor=pfor),
                tape.batch_jacobian(y_column, column, experimental_use_pfor=pfor))

    assert run(differentiate) == [[[3.0, 0.0], [0.0, 6.0]], [[[3.0]], [[6.0]]]]


@pytest.mark.parametrize("name", sorted(IN_GRAPH))
def test_a_tape_around_a_function_that_has_the_override_inside(name, x):
    """An eager tape, and the function with the override is traced under it."""
    function = tensorflow.function(IN_GRAPH[name], autograph=False)
    for _ in range(2):
        with tensorflow.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert tape.gradient(y, x).numpy().tolist() == FIRST


def test_a_block_around_tapes(x):
    """What the tapes build inside the block is under the override as well, as with tf.gradients."""
    @tensorflow.function(autograph=False)
    def differentiate(x):
        with override():
            with tensorflow.GradientTape() as outer:
                outer.watch(x)
                with tensorflow.GradientTape() as inner:
                    inner.watch(x)
                    y = tensorflow.square(x)
                first = inner.gradient(y, x)
            return first, outer.gradient(first, x)

    assert [value.numpy().tolist() for value in differentiate(x)] == [FIRST, SECOND]


def test_a_function_under_autograph_raises_our_errors(x):
    """Autograph hands errors on as they are."""
    @tensorflow.function
    def function(x):
        with gg.override_gradients({"Squre": three_x}):
            return tensorflow.square(x)

    with pytest.raises(gg.OverrideError, match="Did you mean Square"):
        function(x)


if not TF1:   # TensorFlow 1.15 has no forward mode
    @pytest.mark.parametrize("where,name", PLACES)
    def test_forward_mode_is_refused(where, name, x):
        """A gradient function has no forward derivative; TensorFlow would transpose the backward one."""
        def differentiate(x):
            with tensorflow.autodiff.ForwardAccumulator(x, tensorflow.ones_like(x)) as accumulator:
                y = IN_GRAPH[name](x)
            return accumulator.jvp(y)

        call = differentiate if where == "eager" else tensorflow.function(differentiate, autograph=False)
        with pytest.raises(gg.OverrideError, match="ForwardAccumulator is open over .*Use a tf.GradientTape"):
            call(x)
