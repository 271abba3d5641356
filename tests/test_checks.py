"""check_gradient passes what is right, catches what is off by 0.001, and says where and which op."""
import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg
from graphgrad import rules

RANDOM = np.random.RandomState(11)
X = RANDOM.uniform(0.1, 0.9, [3, 4]) * RANDOM.choice([-1, 1], [3, 4]) + RANDOM.choice([0, 2], [3, 4])


def test_ordinary_functions():
    """TensorFlow's own gradients: of one input and of two, one output and two, with an integer beside; a result to look at."""
    result = gg.check_gradient(lambda x: tf.nn.relu(x) ** 2 + tf.tanh(x), X)
    assert result.entries == 12 and result.difference <= result.allowed < 1e-4 and result.overridden == []
    gg.check_gradient(lambda a, b, i: [tf.matmul(a, b), tf.gather(b, i)], [X, X.T, np.array([0, 1])])
    gg.check_gradient(lambda x: tf.nn.relu(x), X.astype(np.float32))   # becomes float64


def off_by_a_thousandth(op, grad):
    return 1.001 * gg.original_gradient(op, grad)[0]


def test_a_wrong_override_is_caught():
    """The message says where, how much, what is allowed, and which operation is off, with its file and line."""
    override = gg.override_gradients({"Tanh": off_by_a_thousandth})
    with pytest.raises(gg.CheckError) as caught:
        gg.check_gradient(lambda x: tf.sigmoid(2.0 * tf.tanh(x)), X, override=override)
    text = str(caught.value)
    assert text.startswith("Gradient at entry [") and "they differ by" in text and "allowed is" in text
    assert "By itself, off is 'Tanh' (type Tanh, gradient off_by_a_thousandth at " in text and "test_checks.py:" in text
    assert "declare_surrogate" in text
    with pytest.raises(gg.CheckError, match="entry .* of input 0"):
        gg.check_gradient(lambda x: tf.tanh(x), X, override=gg.override_gradients({"Tanh": lambda op, grad: None and grad or [None]}))


@pytest.mark.parametrize("rule, forward", [
    (rules.straight_through, tf.sign), (rules.straight_through, tf.round), (rules.straight_through_clipped_input(1.0), tf.sign),
    (rules.approx_sign, tf.sign), (rules.swish_sign(), tf.sign), (rules.tanh_surrogate, tf.sign), (rules.spike(), tf.sign),
    (rules.beta_smooth(2.0), tf.nn.relu), (rules.zero, tf.nn.relu), (rules.reverse(0.3), tf.identity), (rules.scale(3.0), tf.identity),
    (rules.straight_through_interval(0, 1), tf.round), (rules.substitute(tf.tanh), tf.sign),
    (rules.lower_bound("identity"), lambda x: tf.maximum(x, 0.5)), (rules.lower_bound("disconnected"), lambda x: tf.maximum(x, 0.5))])
def test_rules_are_the_derivative_of_their_surrogates(rule, forward):
    """In a network: what is behind the op sees its real output, what is before it the surrogate's slope."""
    with tf.Graph().as_default():
        op_type = forward(tf.placeholder(tf.float32, [2])).op.type
    result = gg.check_gradient(lambda x: tf.sigmoid(tf.square(forward(tf.tanh(x) + x)) * x), X,
                               override=gg.override_gradients({op_type: rule}), order=2)
    assert len(result.overridden) == 1


@pytest.mark.parametrize("rule", [rules.smoothed_max_pool, rules.smoothed_max_pool_l2()], ids=["average", "l2"])
def test_pooling_rules_are_the_derivative_of_their_surrogates(rule):
    """A surrogate reads the attributes of its op."""
    gg.check_gradient(lambda x: tf.square(tf.nn.max_pool2d(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME")), RANDOM.randn(1, 5, 4, 2),
                      override=gg.override_gradients({"MaxPool": rule}))


@pytest.mark.parametrize("name, function", [
    ("sign_ste", gg.ops.sign_ste), ("approx_sign", gg.ops.approx_sign), ("swish_sign", gg.ops.swish_sign), ("round_ste", gg.ops.round_ste),
    ("magnitude_aware_sign", gg.ops.magnitude_aware_sign), ("spike", gg.ops.spike), ("binarize", gg.ops.binarize),
    ("ternarize", lambda x: gg.ops.ternarize(x, method="twn")), ("flip_gradient", lambda x: gg.ops.flip_gradient(x, 0.3)),
    ("dorefa_weights", lambda x: gg.ops.dorefa_weights(x, 2)),
    ("dorefa_weights max stopped", lambda x: gg.ops.dorefa_weights(x, 2, differentiate_max=False)),
    ("dorefa_activations", lambda x: gg.ops.dorefa_activations(x, 2)), ("bernoulli_ste", gg.ops.bernoulli_ste),
    ("categorical_ste", gg.ops.categorical_ste), ("gumbel_softmax hard", lambda x: gg.ops.gumbel_softmax(x, hard=True, seed=1)),
    ("argmax_ste", gg.ops.argmax_ste), ("top_k_ste", lambda x: gg.ops.top_k_ste(x, 2)), ("soft_round", lambda x: gg.ops.soft_round(x, 3.0)),
    ("skip_gradient", gg.ops.skip_gradient(lambda x: tf.reshape(tf.floor(x), [12]))),
    ("bpda", gg.ops.bpda(tf.floor, substitute=tf.square)), ("recompute", gg.ops.recompute(tf.tanh))])
def test_ops_are_what_they_claim(name, function):
    """gg.ops against their surrogates; a sample is held while differences are taken."""
    if name.startswith("gumbel"):
        gg.check_gradient(function, X, entries=False, rtol=np.inf)   # its noise is drawn anew: that it builds is all
        return
    gg.check_gradient(lambda x: tf.square(function(x)) * 3.0, X)


def test_functions_with_gradient():
    """py_func_with_grad and tf_func_with_grad: right ones pass, wrong ones are named."""
    def right(op, grad):
        return 2.0 * op.inputs[0] * grad

    def wrong(op, grad):
        return 2.002 * op.inputs[0] * grad

    for build in (lambda x, grad: gg.py_func_with_grad(np.square, [x], tf.float64, grad=grad, output_shapes=lambda x: x),
                  lambda x, grad: gg.tf_func_with_grad(tf.square, [x], grad=grad)):
        gg.check_gradient(lambda x, build=build: tf.tanh(build(x, right)), X, order=2)
        with pytest.raises(gg.CheckError, match="off is '.*' .*wrong at .*test_checks.py"):
            gg.check_gradient(lambda x, build=build: tf.tanh(build(x, wrong)), X)


def test_a_surrogate_of_ones_own():
    """declare_surrogate on a user's rule: right passes, a wrong declaration is caught."""
    @gg.declare_surrogate(lambda op, x: 3.0 * tf.sin(x))
    def rule(op, grad):
        return 3.0 * tf.cos(op.inputs[0]) * grad

    gg.check_gradient(tf.sign, X, override=gg.override_gradients({"Sign": rule}))

    @gg.declare_surrogate(lambda op, x: 3.003 * tf.sin(x))
    def lying(op, grad):
        return 3.0 * tf.cos(op.inputs[0]) * grad

    with pytest.raises(gg.CheckError, match="lying"):
        gg.check_gradient(tf.sign, X, override=gg.override_gradients({"Sign": lying}))


def test_op_types_as_values():
    """{"Sign": "Identity"} claims to be the identity."""
    gg.check_gradient(lambda x: tf.square(tf.sign(x) + x), X, override=gg.override_gradients({"Sign": "Identity"}))


def test_a_rule_of_nothing():
    """guided departs from the derivative and is the derivative of nothing: said, not passed."""
    with pytest.raises(gg.CheckError, match="graphgrad.guided|guided at .*declare_surrogate"):
        gg.check_gradient(lambda x: tf.nn.relu(x), X, override=gg.guided_backprop())


def test_stop_gradient_is_a_constant():
    """A stop_gradient of the user's own is held at its value; those inside of a tf_func_with_grad are not."""
    gg.check_gradient(lambda x: tf.stop_gradient(tf.reduce_mean(tf.abs(x))) * x + tf.stop_gradient(tf.sign(x) - x), X)


def test_on_tensors_of_a_graph():
    """Overridden graphs as they stand: in float64, in float32 with two digits, in the caller's session, in on()."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        for dtype in (tf.float64, tf.float32):
            x, w = tf.placeholder(dtype, [None, 4]), tf.Variable(tf.cast(tf.constant(RANDOM.randn(4, 2)), dtype))
            with gg.straight_through("Sign"):
                y = tf.tanh(tf.matmul(tf.sign(x), w))
            session.run(w.initializer)
            result = gg.check_gradient(y, x, feed_dict={x: X}, session=session)
            assert len(result.overridden) == 1
            gg.check_gradient(y, x, feed_dict={x: X}, order=2)   # the current session
        z = tf.nn.relu(x)
        with gg.override_gradients({"Relu": rules.beta_smooth(2.0)}).on(graph, where=z.op.name):
            assert gg.check_gradient(z, x, feed_dict={x: X}).overridden == [z.op.name]
        gg.check_gradient(z, x, feed_dict={x: X})


def test_tensors_without_a_session_get_one():
    """What is fed is fed in it; what needs no feed has none."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, X.shape)
        assert gg.check_gradient(tf.tanh(x), x, feed_dict={x: X}).entries == X.size
        x = tf.constant(X)
        gg.check_gradient(tf.tanh(x), x)
        with tf.Session() as session:
            gg.check_gradient(tf.tanh(x), x, session=session)


def test_the_message_when_each_operation_is_right_by_itself():
    """At a kink the difference is wrong, and no override is to blame."""
    right = gg.override_gradients({"Tanh": lambda op, grad: grad * (1 - op.outputs[0] ** 2)})
    with pytest.raises(gg.CheckError, match="Each overridden operation on the path is right by itself: '.*Tanh'"):
        gg.check_gradient(lambda x: tf.abs(tf.tanh(x)), [np.array([1e-7, 1.0])], override=right)


def test_second_order_is_checked():
    """A rule whose value is right and whose own gradient is cut is caught at order 2 alone."""
    def cut(op, grad):
        return tf.stop_gradient(1 - tf.square(op.outputs[0])) * grad

    def cut_by_a_function(op, grad):
        slope = gg.tf_func_with_grad(lambda y: 1 - tf.square(y), [op.outputs[0]], grad=lambda op, grad: 0.0 * grad)
        return slope * grad

    override = gg.override_gradients({"Tanh": cut_by_a_function})
    gg.check_gradient(tf.tanh, X, override=override)
    with pytest.raises(gg.CheckError, match="^Gradient of the gradient (at|along) "):
        gg.check_gradient(tf.tanh, X, override=override, order=2)
    gg.check_gradient(tf.tanh, X, override=gg.override_gradients({"Tanh": cut}))


def test_a_changed_forward():
    """An override during which the forward builds something else is caught."""
    calls = []

    def moody(x):
        calls.append(x)
        return x * len(calls)

    with pytest.raises(gg.CheckError, match="The forward is not the same under Override"):
        gg.check_gradient(moody, X, override=gg.override_gradients({"Mul": lambda op, grad: gg.original_gradient(op, grad)}))


def looped(step):
    return lambda x: tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, step(v)), [0, x])[1]


def branched(step):
    return lambda x: tf.cond(tf.reduce_sum(x) < 1e9, lambda: step(x), lambda: x)


def called(step):
    return lambda x: tf.function(step, autograph=False)(x)


@pytest.mark.parametrize("build", [looped, branched, called])
def test_bodies(control_flow, build):
    """True derivatives are checked in loops, branches and functions; what stands for a surrogate cannot be fed there: refused."""
    gg.check_gradient(build(tf.tanh), X, order=2 if control_flow == 2 and not TF1 else 1)   # TF has no more
    right = gg.override_gradients({"Tanh": lambda op, grad: grad * (1 - op.outputs[0] ** 2)})
    gg.check_gradient(build(tf.tanh), X, override=right)
    where = "" if control_flow == 2 or build is called else "In a loop or branch, and so not tried by itself: '.*Tanh' .type Tanh, gradient off_by"
    with pytest.raises(gg.CheckError, match="they differ by .*" + where) as caught:
        gg.check_gradient(build(tf.tanh), X, override=gg.override_gradients({"Tanh": off_by_a_thousandth}))
    assert "right by itself" not in str(caught.value)
    gg.check_gradient(build(lambda v: gg.tf_func_with_grad(tf.square, [v], grad=lambda op, grad: 2.0 * op.inputs[0] * grad)), X)
    text = "check_gradient cannot feed .*Sign' .type Sign, gradient .*straight_through.*in the body of a loop, branch or function"
    with pytest.raises(gg.OverrideError, match=text):
        gg.check_gradient(build(lambda v: tf.sign(v) + v), X, override=gg.straight_through("Sign"))
    with pytest.raises(gg.OverrideError, match="cannot feed .*StopGradient"):
        gg.check_gradient(build(lambda v: tf.stop_gradient(v) * v), X)


def test_a_session_that_ran_the_loop_before(control_flow):
    """TensorFlow cannot run the gradient of a v2 loop in it: one sentence; with a new session it is checked."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, X.shape)
        y = looped(tf.tanh)(x)
        session.run(y, {x: X})
        if control_flow == 2:
            with pytest.raises(ValueError, match="the session has run this graph before.*Give a new session, or none"):
                gg.check_gradient(y, x, feed_dict={x: X}, session=session)
        else:
            gg.check_gradient(y, x, feed_dict={x: X}, session=session)
        gg.check_gradient(y, x, feed_dict={x: X}, session=tf.Session())


@pytest.mark.parametrize("call, error, text", [
    (lambda: gg.check_gradient(tf.sign, [np.array([1, 2])]), TypeError, "none of the inputs is floating"),
    (lambda: gg.check_gradient(tf.sign, X, order=3), ValueError, "order must be 1 or 2, but got 3"),
    (lambda: gg.check_gradient(lambda x: tf.argmax(x), X), TypeError, "must return floating tensors"),
    (lambda: gg.check_gradient(tf.sign, X, feed_dict={}), TypeError, "feed_dict and session are for tensors")])
def test_bad_arguments(call, error, text):
    """One sentence."""
    with pytest.raises(error, match=text):
        call()


def test_half_precision_tensors_are_refused():
    """float16 has no digits for differences."""
    with tf.Graph().as_default():
        x = tf.constant([1.0], tf.float16)
        with pytest.raises(TypeError, match="takes float64 or float32 tensors, but .* has float16"):
            gg.check_gradient(tf.sign(x), x)


def test_values_that_are_not_finite():
    """A NaN is a failure, not a pass."""
    with pytest.raises(gg.CheckError, match="nan"):
        gg.check_gradient(lambda x: tf.sqrt(x), np.array([-1.0, 1.0]))


def test_an_override_is_for_a_function():
    """Tensors are there already."""
    with tf.Graph().as_default(), pytest.raises(TypeError, match="override is for a function.*call it inside override.on"):
        x = tf.constant(X)
        gg.check_gradient(tf.tanh(x), x, override=gg.straight_through("Tanh"))


@pytest.mark.parametrize("order", [1, 2])
def test_a_scalar_is_checked(order):
    """A loss: of an array, and of a scalar."""
    def loss(x):
        return tf.reduce_sum(tf.tanh(x) ** 2)

    assert gg.check_gradient(loss, X, order=order).entries == X.size
    assert gg.check_gradient(loss, np.float64(0.7), order=order).entries == 1
    with pytest.raises(gg.CheckError):
        gg.check_gradient(loss, X, order=order, override=gg.override_gradients({"Tanh": off_by_a_thousandth}))


def test_an_empty_input_has_nothing_to_check():
    """No entry is looked at; what is beside it is checked."""
    result = gg.check_gradient(lambda x, none: tf.reduce_sum(tf.tanh(x)) + tf.reduce_sum(none), [X, np.zeros([0, 3])])
    assert result.entries == X.size


def test_a_surrogate_of_another_shape_is_refused():
    """It is what the operation's output is moved by."""
    @gg.declare_surrogate(lambda op, x: tf.reduce_sum(x))
    def gradient(op, grad):
        return grad

    with pytest.raises(gg.CheckError, match="The surrogate of .*Sign.* has shape \\(\\), but the operation's output \\(3, 4\\)"):
        gg.check_gradient(tf.sign, X, override=gg.override_gradients({"Sign": gradient}))
