"""Form 1, ``with override:``. Tests are named by the point of the design they hold to: 4.1 to 4.11.

The override returns 42 where the gradient of Relu at [-1, 2] is [0, 1]: closed forms, as measured on real TF.
"""
import functools
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg
from graphgrad import _tf

FORTY_TWO = [42.0, 42.0]
ORDINARY = [0.0, 1.0]


def forty_two(op, grad):
    return 0.0 * grad + 42.0


@pytest.fixture
def x(graph):
    return tf.constant([-1.0, 2.0])


def relu_gradient(y, x, run):
    return run(tf.gradients(y, x)[0]).tolist()


def state_of(graph):
    """Everything an override may touch in a graph."""
    return (dict(graph._gradient_override_map), graph._device_functions_outer_to_inner,
            [_tf.tag_of(op) for op in graph.get_operations()])


# 4.1 In the main graph, bit for bit what TensorFlow's own map gives.

def test_4_1_same_graph_def_as_tensorflows_map(run):
    """The graph built under an override is, node for node, the graph built under TensorFlow's own map."""
    def build(scope):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [None, 3], name="x")
            with scope(graph):
                y = tf.nn.relu(tf.sign(x) * x + tf.nn.elu(x))
                dx = tf.gradients(y, x, name="dx")[0]
            assert dx is not None
            return graph.as_graph_def(add_shapes=True)

    gg.register_gradient("test_4_1.Relu")(forty_two)
    gradients = {"Relu": "test_4_1.Relu", "Sign": "Identity"}
    ours = build(lambda graph: gg.override_gradients(gradients))
    theirs = build(lambda graph: graph.gradient_override_map(gradients))
    assert ours == theirs


def test_4_1_gradient_operations_built_inside_the_block_are_tagged(x, run):
    """tf.gradients inside the block: d2|x| under {Sign: Identity} is 1, as TensorFlow's map gives, not 0."""
    with gg.override_gradients({"Sign": "Identity"}):
        first = tf.gradients(tf.abs(x), x)[0]
        second = tf.gradients(first, x)[0]
    assert run(second).tolist() == [1.0, 1.0]


def test_4_1_the_innermost_override_wins(x, run):
    """Of nested blocks, and of a block and TensorFlow's own map, the innermost decides."""
    def seven(op, grad):
        return 7.0 * grad

    gg.register_gradient("test_4_1.seven")(seven)
    outer = gg.override_gradients({"Relu": forty_two})
    with outer:
        with gg.override_gradients({"Relu": seven}):
            ours = tf.nn.relu(x)
        with x.graph.gradient_override_map({"Relu": "test_4_1.seven"}):
            native = tf.nn.relu(x)
        plain = tf.nn.relu(x)
        with gg.override_gradients({"Relu": "Relu"}):
            restored = tf.nn.relu(x)
    assert [relu_gradient(y, x, run) for y in (ours, native, plain, restored)] == [
        [7.0, 7.0], [7.0, 7.0], FORTY_TWO, ORDINARY]
    missed = outer.report["Relu"].missed
    assert "taken by an inner override" in missed.values() or "tagged" in "".join(missed.values())
    assert set(missed) == {ours.op.name, native.op.name, restored.op.name}


def test_4_1_none_means_no_gradient(x):
    """A value of None cuts the gradient, as tf.NotDifferentiable does."""
    with gg.override_gradients({"Relu": None}):
        y = tf.nn.relu(x)
    assert tf.gradients(y, x) == [None]


def test_4_1_an_override_never_changes_the_forward(x, run):
    """The values are those of the op, whatever its gradient."""
    with gg.override_gradients({"Relu": forty_two}):
        y = tf.nn.relu(x)
    assert run(y).tolist() == [0.0, 2.0]


# 4.2 It reaches every body built in the block.

BODIES = {
    "plain": lambda x: tf.nn.relu(x),
    "while_loop": lambda x: tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, tf.nn.relu(y)), [0, x])[1],
    "cond": lambda x: tf.cond(x[1] > 0, lambda: tf.nn.relu(x), lambda: x),
    "case": lambda x: tf.case([(x[1] > 0, lambda: tf.nn.relu(x))], default=lambda: x),
    "switch_case": lambda x: tf.switch_case(tf.constant(1), [lambda: x, lambda: tf.nn.relu(x)]),
    "map_fn": lambda x: tf.map_fn(tf.nn.relu, x),
    "scan": lambda x: tf.scan(lambda _, y: tf.nn.relu(y), x, initializer=0.0),
    "function": lambda x: tf_function(tf.nn.relu)(x),
    "while_in_cond": lambda x: tf.cond(x[1] > 0, lambda: BODIES["while_loop"](x), lambda: x),
    "cond_in_while": lambda x: tf.while_loop(
        lambda i, y: i < 1, lambda i, y: (i + 1, tf.cond(i < 1, lambda: tf.nn.relu(y), lambda: y)), [0, x])[1],
    "while_in_function": lambda x: tf_function(BODIES["while_loop"])(x),
    "function_in_while": lambda x: tf.while_loop(
        lambda i, y: i < 1, lambda i, y: (i + 1, tf_function(tf.nn.relu)(y)), [0, x])[1],
    "function_in_function": lambda x: tf_function(lambda z: tf_function(tf.nn.relu)(z))(x),
    "device_none": lambda x: _under(tf.device(None), lambda: tf.nn.relu(x)),
    "colocated": lambda x: _under(tf.colocate_with(x.op), lambda: tf.nn.relu(x)),
    "variable_scope": lambda x: _under(tf.variable_scope("scope"), lambda: tf.nn.relu(x)),
}


def tf_function(function):
    import tensorflow
    return tensorflow.function(function, autograph=False)


def _under(scope, build):
    with scope:
        return build()


@pytest.mark.parametrize("body", sorted(BODIES))
def test_4_2_bodies_are_reached(body, control_flow, x, run):
    """The override holds in every kind of body, and the report says that the gradient went through it."""
    override = gg.override_gradients({"Relu": forty_two})
    before = BODIES[body](x)
    with override:
        y = BODIES[body](x)
    after = BODIES[body](x)
    assert relu_gradient(y, x, run) == FORTY_TWO
    assert len(override.report["Relu"].differentiated) == 1
    assert relu_gradient(before, x, run) == ORDINARY
    assert relu_gradient(after, x, run) == ORDINARY


def test_4_2_a_function_traced_before_keeps_its_other_callers(x, run):
    """A tf.function traced earlier is traced afresh in the block; calls outside stay as they were."""
    traces = []

    def body(y):
        traces.append(1)
        return tf.nn.relu(y)

    function = tf_function(body)
    before = function(x)
    with gg.override_gradients({"Relu": forty_two}):
        inside = function(x)
    after = function(x)
    assert [relu_gradient(y, x, run) for y in (before, inside, after)] == [ORDINARY, FORTY_TWO, ORDINARY]
    assert len(traces) == 2


def test_4_2_an_override_inside_a_body(control_flow, x, run):
    """A block opened inside a loop body holds for that body alone."""
    override = gg.override_gradients({"Relu": forty_two})

    def body(i, y):
        with override:
            return i + 1, tf.nn.relu(y)

    y = tf.while_loop(lambda i, y: i < 1, body, [0, x])[1]
    assert relu_gradient(y, x, run) == FORTY_TWO
    assert relu_gradient(tf.nn.relu(x), x, run) == ORDINARY


def test_4_2_custom_gradients_keep_theirs(x, run):
    """tf.custom_gradient is an inner scope: an override of IdentityN does not replace it."""
    @tf.custom_gradient
    def three(y):
        return tf.identity(y), lambda grad: 3.0 * grad

    override = gg.override_gradients({"IdentityN": None})
    with override:
        y = three(x)
    assert relu_gradient(y, x, run) == [3.0, 3.0]


def test_4_2_a_function_hidden_by_colocation_is_told(x):
    """What a device function cannot see, a shared function under tf.device(None), is said, not passed over."""
    function = tf_function(tf.nn.relu)
    function(x)
    override = gg.override_gradients({"Relu": forty_two})
    with pytest.warns(gg.OverrideWarning, match="Out of reach of the override.*open the block inside that scope") as caught:
        with override:
            tf.nn.relu(x)
            with tf.device(None):
                function(x)
    assert [warning.filename for warning in caught] == [__file__]


def defun(function):
    """The functions of TensorFlow 0.x and 1.x."""
    from tensorflow.python.framework import function as framework_function

    def body(y):
        return function(y)

    return framework_function.Defun(tf.float32)(body)


def recomputed(function):
    """``tf.recompute_grad(function)``, which on 1.15 wants resource variables, used or not."""
    import tensorflow

    def call(y):
        with tf.variable_scope(tf.get_variable_scope(), use_resource=True):
            return tensorflow.recompute_grad(function)(y)

    return call


def test_4_2_a_defun_is_told(x, run):
    """TensorFlow differentiates a Defun in C++ and asks no gradient function: also with an operation that was reached."""
    function = defun(tf.nn.relu)
    override = gg.override_gradients({"Relu": forty_two})
    with pytest.warns(gg.OverrideWarning, match="Out of reach of the override.*: Relu \\(in a Defun.*make it a tf.function"):
        with override:
            y = function(x) + tf.nn.relu(x)
    assert "in a Defun" in str(override.report)
    assert relu_gradient(y, x, run) == [42.0, 43.0]


def test_4_2_inside_a_defun_nothing_can_be_overridden(x):
    """The block, and functions with their own gradient, are refused there."""
    def overridden(y):
        with gg.override_gradients({"Relu": forty_two}):
            return tf.nn.relu(y)

    def own_gradient(y):
        return gg.tf_func_with_grad(tf.nn.relu, [y], grad=forty_two)

    for function in (overridden, own_gradient):
        with pytest.raises(gg.OverrideError, match="body of a Defun, which TensorFlow differentiates in C\\+\\+"):
            defun(function)(x)


@pytest.mark.parametrize("tape", [False, True], ids=["gradients", "tape"])
def test_4_2_what_recompute_grad_builds_again_is_under_the_override(tape, x, run):
    """TensorFlow's map leaves it ordinary in silence: the function is built a second time after the block."""
    import tensorflow
    with tensorflow.GradientTape() as record:
        record.watch(x)
        with gg.override_gradients({"Relu": forty_two}):
            y = recomputed(tf.nn.relu)(x)
    assert run(record.gradient(y, x) if tape else tf.gradients(y, x)[0]).tolist() == FORTY_TWO


def test_4_2_what_recompute_grad_builds_again_out_of_reach_is_told(x, run):
    """A Defun that only the second building has: the warning comes then."""
    built = []

    def forward(y):
        built.append(y)
        return defun(tf.nn.relu)(y) if len(built) > 1 else tf.nn.relu(y)

    with gg.override_gradients({"Relu": forty_two}):
        y = recomputed(forward)(x)
    with pytest.warns(gg.OverrideWarning, match="Out of reach of the override"):
        tf.gradients(y, x)


def test_4_2_a_loop_of_an_imported_graph_is_told(x):
    """Its body is in the library of the graph, and no operation of it is built in the block."""
    with tf.Graph().as_default() as old:
        tf.enable_control_flow_v2()
        try:
            loop = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, tf.nn.relu(y)), [0, tf.placeholder(tf.float32, [2])])
        finally:
            tf.disable_control_flow_v2()
    definition = old.as_graph_def()
    assert loop[1].op.type == "Identity"
    with pytest.warns(gg.OverrideWarning, match="Out of reach of the override.*Relu \\(in a function that was imported"):
        with gg.override_gradients({"Relu": forty_two}):
            tf.nn.relu(x)
            tf.import_graph_def(definition)


# 4.3 All or nothing.

def test_4_3_blocks_closed_out_of_order_are_told_and_leave_nothing(graph, x):
    """TensorFlow's map leaves an override behind."""
    before = state_of(graph)[:2]
    one, other = gg.override_gradients({"Relu": forty_two}), gg.override_gradients({"Elu": forty_two})
    one.__enter__()
    other.__enter__()
    tf.nn.elu(tf.nn.relu(x))
    with pytest.raises(gg.OverrideError, match="closed before Override.*close them in the opposite order"):
        one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert state_of(graph)[:2] == before


@pytest.mark.parametrize("gradients", [
    {"Relu": forty_two, "Elu": 3}, {"Relu": forty_two, "Elu": "nobody_registered_this"},
    {"Relu": forty_two, "ELU": forty_two}, {"Relu": forty_two, 7: forty_two}, {}, [("Relu", forty_two)]],
    ids=["value", "name", "key", "key_type", "empty", "list"])
def test_4_3_a_bad_entry_installs_nothing(graph, gradients):
    """One bad key or value, and the good ones are not installed either: TensorFlow's map leaks half an entry."""
    before = state_of(graph)
    with pytest.raises((gg.GraphGradError, TypeError)):
        with gg.override_gradients(gradients):
            pass
    assert state_of(graph) == before


def test_4_3_an_exception_leaves_the_graph_as_it_was(x, run):
    """Leaving by an exception closes everything, and the exception is the user's own."""
    before = state_of(x.graph)
    with pytest.raises(ZeroDivisionError):
        with gg.override_gradients({"Relu": forty_two}):
            with gg.override_gradients({"Elu": forty_two}):
                raise ZeroDivisionError()
    assert state_of(x.graph) == before
    assert relu_gradient(tf.nn.relu(x), x, run) == ORDINARY


def test_4_3_what_is_hooked_is_put_back(x):
    """What lets tapes see overrides and tf.function tell them apart is there only while a block is open."""
    from tensorflow.python.eager import execute
    if TF1:
        from tensorflow.python.eager.function import Function as owner
        name = "_cache_key"
    else:
        from tensorflow.python.eager.polymorphic_function import function_context as owner
        name = "make_function_context"
    before = execute.record_gradient, getattr(owner, name)
    with gg.override_gradients({"Relu": forty_two}):
        assert execute.record_gradient is not before[0]
        assert getattr(owner, name) is not before[1]
        tf.nn.relu(x)
    assert (execute.record_gradient, getattr(owner, name)) == before


def test_4_3_a_finalized_graph_is_refused(graph):
    """Nothing can be built in a finalized graph, so there is nothing to override."""
    graph.finalize()
    with pytest.raises(gg.OverrideError, match="finalized"):
        with gg.override_gradients({"Relu": forty_two}):
            pass


# 4.4 Unknown keys and values.

@pytest.mark.parametrize("key, meant", [("Matmul", "MatMul"), ("sign", "Sign"), ("ReLU", "Relu"), ("Maxpool", "MaxPool")])
def test_4_4_an_unknown_op_type_has_close_matches(key, meant):
    """A misspelt op type is an error that says which was meant."""
    with pytest.raises(gg.OverrideError, match="'{}' is not an operation type of TensorFlow .* Did you mean .*{}".format(
            key, meant)):
        gg.override_gradients({key: forty_two})


def test_4_4_an_unregistered_name_is_an_error_at_once():
    """The wanted name is in the message, with what was probably meant and how to register it."""
    gg.register_gradient("GuidedReluOfTest44")(forty_two)
    with pytest.raises(gg.RegistrationError, match="No gradient named 'GuidedRelOfTest44' is registered. Did you mean "
                       "('GuidedRelu' or )?'GuidedReluOfTest44'.*register_gradient"):
        gg.override_gradients({"Relu": "GuidedRelOfTest44"})


def test_4_4_a_value_of_another_kind_is_an_error():
    """A number is neither a function, a name nor None."""
    with pytest.raises(TypeError, match="function fn\\(op, \\*grads\\), a registered name, an op type or None.*3"):
        gg.override_gradients({"Relu": 3})


def test_4_4_calls_of_functions_as_a_key(x, run):
    """A call can be overridden as a whole, but for TensorFlow 1.15, which asks for no gradient of it: refused there."""
    if TF1:
        with pytest.raises(gg.OverrideError, match="'PartitionedCall' cannot be overridden there"):
            gg.override_gradients({"PartitionedCall": forty_two})
        return
    with gg.override_gradients({"PartitionedCall": forty_two}):
        y = tf_function(tf.nn.relu)(x)
    assert relu_gradient(y, x, run) == FORTY_TWO


def test_4_4_a_renamed_op_type_is_told(x):
    """A key that today's TensorFlow writes otherwise: x + y is AddV2, and the warning says so."""
    override = gg.override_gradients({"Add": lambda op, grad: (grad, grad)})
    with pytest.warns(gg.OverrideWarning, match="'Add' matched no operation built in the block; there were AddV2 \\(1\\) \\(TensorFlow {} may write it so\\)".format(tf.__version__)):
        with override:
            x + x
    assert override.report["Add"].instead == {"AddV2": 1}


# 4.5 Keys that matched nothing.

def test_4_5_a_key_without_an_operation_is_a_warning(x):
    """The warning lists what was there instead, and the report keeps it."""
    override = gg.override_gradients({"Relu": forty_two, "Elu": forty_two})
    with pytest.warns(gg.OverrideWarning, match="'Elu' matched no operation built in the block; there were Relu \\(1\\)") as caught:
        with override:
            tf.nn.relu(x)
    assert [warning.filename for warning in caught] == [__file__]
    assert override.report.unmatched == ["Elu"]


def test_4_5_strict_makes_it_an_error_and_leaves_the_graph(x):
    """strict=True raises at the end of the block, after everything was closed."""
    before = state_of(x.graph)
    with pytest.raises(gg.OverrideError, match="'Relu' matched no operation built in the block; nothing was there"):
        with gg.override_gradients({"Relu": forty_two}, strict=True):
            pass
    assert state_of(x.graph) == before


def test_4_5_any_of_a_family_is_enough(x):
    """require="any" is content with one key of the map."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with gg.override_gradients({"Relu": forty_two, "Elu": forty_two}, require="any"):
            tf.nn.relu(x)
    with pytest.warns(gg.OverrideWarning):
        with gg.override_gradients({"Relu": forty_two, "Elu": forty_two}, require="any"):
            tf.identity(x)


def test_4_5_an_exception_is_not_followed_by_a_warning(graph):
    """A block that failed before it built anything says only what failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError):
            with gg.override_gradients({"Relu": forty_two}):
                raise KeyError()


# 4.6 Eager mode and tapes.

def test_4_6_a_with_block_in_eager_mode_is_an_error():
    """Where a block could do nothing it is refused, with the form that works."""
    with pytest.raises(gg.OverrideError, match=r"in eager mode there is none.*guided\(model\)\(x\)"):
        with gg.override_gradients({"Relu": forty_two}):
            pass


@pytest.fixture
def control_flow_v2():
    """TensorFlow's tapes refuse control flow v1 themselves."""
    was_on = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    yield
    if not was_on:
        tf.disable_control_flow_v2()


@pytest.mark.parametrize("persistent", [False, True], ids=["once", "persistent"])
@pytest.mark.parametrize("body", ["plain", "while_loop", "cond", "function", "device_none"])
def test_4_6_a_tape_in_the_same_graph_is_right(body, persistent, control_flow_v2, x, run):
    """TensorFlow's tapes ignore overrides in silence; here a tape gives the overridden gradient."""
    with tf_module().GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        with gg.override_gradients({"Relu": forty_two}):
            y = BODIES[body](x)
    assert run(tape.gradient(y, x)).tolist() == FORTY_TWO


def tf_module():
    import tensorflow
    return tensorflow


def test_4_6_a_tape_in_a_function_is_right():
    """The same inside a tf.function that eager code calls."""
    tensorflow = tf_module()

    @tensorflow.function
    def gradient(x):
        with gg.override_gradients({"Relu": forty_two}), tensorflow.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.relu(x)
        return tape.gradient(y, x)

    assert gradient(tensorflow.constant([-1.0, 2.0])).numpy().tolist() == FORTY_TWO


# 4.9 The result of a gradient function is checked.

def no_return(op, grad):
    grad + 1.0


def two_for_one(op, grad):
    return grad, grad


def numpy_array(op, grad):
    return np.ones(2, np.float32)


def other_dtype(op, grad):
    return tf.cast(grad, tf.float64)


def other_shape(op, grad):
    return tf.zeros([3])


def two_gradients(op, grad, other):
    return grad


@pytest.mark.parametrize("rule, text", [
    (no_return, "returned None: a return statement may be missing. Return one gradient per input \\(1 input\\)"),
    (two_for_one, "returned 2 gradients, but the operation has 1 input"),
    (numpy_array, "for input 0 .*is a numpy.ndarray, not a tensor"),
    (other_dtype, "has dtype float64, but the input has float32"),
    (other_shape, "has shape \\(3,\\), but the input has \\(2,\\)"),
    (two_gradients, "is written as \\(op, grad, other\\), but is called with the operation and 1 gradient"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_4_9_a_broken_contract_names_rule_place_and_operation(x, rule, text):
    """One sentence: the rule and where it was defined, the operation and its type, what came, what was wanted."""
    with gg.override_gradients({"Relu": rule}):
        y = tf.nn.relu(x, name="my_relu")
    where = "Gradient '[^']*{}' \\(.*test_overrides.py:{}\\) of operation 'my_relu' \\(type Relu\\)".format(
        rule.__name__, rule.__code__.co_firstlineno)
    with pytest.raises(gg.GradientError, match=where + ".*" + text):
        tf.gradients(y, x)


def test_4_9_a_type_error_of_the_function_itself_is_left_alone(x):
    """A TypeError raised in a gradient function that takes the right arguments is not explained away by them."""
    def adds_no_number(op, grad):
        return grad + object()

    with gg.override_gradients({"Relu": adds_no_number}):
        y = tf.nn.relu(x)
    with pytest.raises(TypeError):   # a GradientError is none
        tf.gradients(y, x)


def test_4_9_what_a_wrapped_function_takes_is_what_it_can_be_called_with(x, run):
    """A decorator that adds an argument, and keeps the signature of what it wraps, makes a gradient function."""
    @functools.wraps(two_gradients)
    def with_a_factor(op, grad):
        return two_gradients(op, 3.0 * grad, None)

    with gg.override_gradients({"Relu": with_a_factor}):
        y = tf.nn.relu(x)
    assert run(tf.gradients(y, x)[0]).tolist() == [3.0, 3.0]


def test_4_9_the_check_holds_for_names_registered_with_tensorflow_too(x):
    """A gradient that came in by tf.RegisterGradient and forgets to return is an error as well."""
    name = "test_4_9.raw"
    if name not in _tf.registered_names():
        tf.RegisterGradient(name)(no_return)
    with gg.override_gradients({"Relu": name}):
        y = tf.nn.relu(x)
    with pytest.raises(gg.GradientError, match="'test_4_9.raw'.*returned None"):
        tf.gradients(y, x)


def test_4_9_indexed_slices_and_none_pass(graph, run):
    """What TensorFlow's own gradients may be, ours may be: IndexedSlices, and None for an input."""
    table, rows = tf.constant([[1.0], [2.0]]), tf.constant([1])

    def twice(op, grad):
        slices, none, axis = gg.original_gradient(op, grad)
        assert none is None and axis is None
        return tf.IndexedSlices(2.0 * slices.values, slices.indices, slices.dense_shape), None, None

    with gg.override_gradients({"GatherV2": twice}):
        y = tf.gather(table, rows)
    assert run(tf.convert_to_tensor(tf.gradients(y, table)[0])).tolist() == [[0.0], [2.0]]


def test_original_gradient_is_tensorflows_own(x, run):
    """original_gradient composes with the gradient TensorFlow would have used, under the override itself."""
    with gg.override_gradients({"Elu": lambda op, grad: gg.original_gradient(op, tf.nn.relu(grad))}):
        y = tf.nn.elu(x)
    got = run(tf.gradients(y, x, grad_ys=tf.constant([1.0, -1.0]))[0])
    np.testing.assert_allclose(got, [np.exp(-1.0), 0.0], rtol=1e-6)


def test_original_gradient_of_a_type_without_one_is_an_error(x):
    """No registered gradient, nothing to compose with: said in one sentence."""
    with pytest.raises(gg.RegistrationError, match="no gradient for operation .* of type 'Bucketize'"):
        gg.original_gradient(tf.raw_ops.Bucketize(input=x, boundaries=[0.0]).op, x)


# The report.

def test_the_report_proves_what_happened(x):
    """Tagged, not tagged and why, and what the gradient went through, per key and printed."""
    early = tf.nn.relu(x, name="early")
    override = gg.override_gradients({"Relu": gg.register_gradient("test_report.Relu")(forty_two)})
    with override:
        inside = tf.nn.relu(early, name="inside")
        tf.nn.relu(x, name="aside")
    tf.nn.relu(x, name="late")
    assert override.report["Relu"].differentiated == []
    tf.gradients(inside, x)
    report = override.report
    assert report["Relu"].tagged == ["inside", "aside"]
    assert report["Relu"].differentiated == ["inside"]
    assert report["Relu"].missed == {"early": "built before the block", "late": "built after the block"}
    assert str(report).splitlines() == [
        "Override(Relu -> test_report.Relu)",
        "  Relu -> test_report.Relu: 2 ops tagged, the gradient went through 1",
        "    tagged: inside, aside",
        "    not differentiated so far: aside",
        "    not tagged, built before the block: early",
        "    not tagged, built after the block: late",
    ]


def test_the_block_gives_its_override(x):
    """``with gg.override_gradients(...) as override`` has the report at hand."""
    with gg.override_gradients({"Relu": forty_two}) as override:
        tf.nn.relu(x, name="inside")
    assert override.report["Relu"].tagged == ["inside"]


def test_the_report_names_what_an_inner_scope_took(graph, x):
    """A map of TensorFlow's own, and another override."""
    with gg.override_gradients({"Relu": forty_two}) as override:
        with graph.gradient_override_map({"Relu": "Identity"}):
            tf.nn.relu(x, name="mapped")
        with gg.override_gradients({"Relu": None}):
            tf.nn.relu(x, name="inner")
        tf.nn.relu(x, name="outer")
    assert override.report["Relu"].tagged == ["outer"]
    assert override.report["Relu"].missed == {"mapped": "tagged 'Identity' by an inner scope", "inner": "taken by an inner override"}


def test_the_report_outlives_the_graph_but_does_not_keep_it():
    """The names of what was tagged stay; the graph goes."""
    override = gg.override_gradients({"Relu": forty_two})
    graph = tf.Graph()
    with graph.as_default(), override:
        tf.nn.relu(tf.constant([1.0]), name="relu")
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
    assert override.report["Relu"].tagged == ["relu"]


# 4.11 Nothing grows.

def test_4_11_closures_go_with_their_graphs():
    """Gradient functions made per call leave TensorFlow's registry with the graphs they were used in."""
    gc.collect()
    before = set(_tf.registered_names())
    gone = []
    for number in range(50):
        with tf.Graph().as_default():
            def scaled(op, grad, number=number):
                return float(number) * grad

            x = tf.constant([1.0])
            with gg.override_gradients({"Relu": scaled}):
                y = tf.nn.relu(x)
            tf.gradients(y, x)
            gone.append(weakref.ref(scaled))
            del scaled, x, y
    gc.collect()
    assert sum(reference() is not None for reference in gone) == 0
    assert set(_tf.registered_names()) - before <= {"graphgrad.bound"}


def test_4_11_a_closure_lives_as_long_as_its_graph(control_flow, x, run):
    """Also where nothing but the graph and a name in it are left of the override."""
    factor = 42.0
    with gg.override_gradients({"Relu": lambda op, grad: 0.0 * grad + factor}):
        y = tf.nn.relu(x, name="closed")
        loop = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, tf.nn.relu(y)), [0, x])[1]
    gc.collect()
    definition = x.graph.as_graph_def()
    with tf.Graph().as_default():
        x2 = tf.constant([-1.0, 2.0])
        copy = tf.import_graph_def(definition, {"Const": x2}, ["closed:0"])[0]
        assert relu_gradient(copy, x2, run) == FORTY_TWO
    assert relu_gradient(y, x, run) == relu_gradient(loop, x, run) == FORTY_TWO


def test_two_closures_of_one_source_keep_apart(x, run):
    """Two functions from one line, in one graph, each with its own operations and its own name."""
    def scaled(factor):
        return lambda op, grad: factor * grad

    two, three = scaled(2.0), scaled(3.0)
    first, second = gg.override_gradients({"Relu": two}), gg.override_gradients({"Relu": three})
    with first:
        y2 = tf.nn.relu(x)
    with second:
        y3 = tf.nn.relu(x)
    assert [relu_gradient(y, x, run) for y in (y2, y3)] == [[2.0, 2.0], [3.0, 3.0]]
    assert first.gradients["Relu"] != second.gradients["Relu"]


def test_threads_in_their_own_graphs_do_not_meet():
    """Sixteen threads, each with its graph and its override: each gets its own gradient."""
    results = [None] * 16

    def build(number):
        with tf.Graph().as_default():
            x = tf.constant([1.0, 2.0])
            with gg.override_gradients({"Relu": lambda op, grad: float(number) * grad}):
                y = tf.nn.relu(x)
            with tf.Session() as session:
                results[number] = session.run(tf.gradients(y, x)[0]).tolist()

    threads = [threading.Thread(target=build, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[float(number)] * 2 for number in range(16)]


def test_one_override_is_entered_again_and_within_itself(x, run):
    """An Override is a value: used twice, and nested in itself, it does the same each time."""
    override = gg.override_gradients({"Relu": forty_two})
    with override, override:
        first = tf.nn.relu(x)
    with override:
        second = tf.nn.relu(x)
    assert relu_gradient(first, x, run) == relu_gradient(second, x, run) == FORTY_TWO
    assert relu_gradient(tf.nn.relu(x), x, run) == ORDINARY


def test_what_requires_is_checked():
    """Before anything is installed."""
    with pytest.raises(gg.OverrideError, match="require must be 'each' or 'any', but got 'all'"):
        gg.override_gradients({"Relu": forty_two}, require="all")


def test_a_report_reads_like_a_container(graph):
    """Its length, what all keys tagged, and what was there instead of a key that matched nothing."""
    override = gg.override_gradients({"Relu": forty_two, "Add": forty_two})
    x = tf.constant([1.0])
    with pytest.warns(gg.OverrideWarning, match="'Add' matched no operation"):
        with override:
            tf.nn.relu(x) + x
    report = override.report
    assert len(report) == 2 and report.tagged == ["Relu"] and report.unmatched == ["Add"]
    assert "there instead: AddV2 (1)" in str(report)


def test_where_an_operation_was_built_is_said(graph):
    """Before, between and after the blocks of one override."""
    x, override = tf.constant([1.0]), gg.override_gradients({"Relu": forty_two})
    tf.nn.relu(x, name="before")
    with override:
        tf.nn.relu(x, name="first")
    tf.nn.relu(x, name="between")
    with override:
        tf.nn.relu(x, name="second")
    tf.nn.relu(x, name="after")
    assert override.report["Relu"].tagged == ["first", "second"]
    assert override.report["Relu"].missed == {
        "before": "built before the block", "between": "built outside the block", "after": "built after the block"}


def test_a_gradient_of_a_resource_or_of_rows_is_let_through(graph, run):
    """A handle's gradient has the dtype of what it refers to; IndexedSlices need no dense shape."""
    v = tf.get_variable("v", initializer=tf.constant([[1.0, 2.0], [3.0, 4.0]]), use_resource=True)
    with gg.override_gradients({"ReadVariableOp": lambda op, grad: 3.0 * grad}):
        y = v.read_value() * 1.0
    np.testing.assert_array_equal(run(tf.gradients(y, v)[0]), np.full([2, 2], 3.0))
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with gg.override_gradients({"GatherV2": lambda op, grad: [tf.IndexedSlices(grad, op.inputs[1]), None, None]}):
        y = tf.gather(x, [1, 1])
    assert run(tf.gradients(y, x)[0].values).tolist() == [[1.0, 1.0]] * 2


def test_a_gradient_whose_signature_cannot_be_read(graph, run):
    """It is called as it is."""
    class Odd:
        __signature__ = "none"
        __name__ = "odd"

        def __call__(self, op, grad):
            return 7.0 * grad

    x = tf.constant([1.0])
    with gg.override_gradients({"Relu": Odd()}):
        y = tf.nn.relu(x)
    assert run(tf.gradients(y, x)[0]).tolist() == [7.0]


def test_4_9_a_function_of_no_module_is_checked_too(x):
    """Made by exec in a bare namespace; only TensorFlow's own gradients may return None for all inputs."""
    bare = {"__builtins__": {}}
    exec("def forgets(op, grad):\n    pass", bare)
    with gg.override_gradients({"Relu": bare["forgets"]}):
        y = tf.nn.relu(x)
    with pytest.raises(gg.GradientError, match="forgets.* returned None: a return statement may be missing"):
        tf.gradients(y, x)


def test_4_9_rows_are_checked_as_far_as_they_say(graph):
    """IndexedSlices of another dtype, or with another dense shape; without one nothing is known."""
    table = tf.constant([[1.0], [2.0]])

    def sliced(dtype, shape):
        with gg.override_gradients({"GatherV2": lambda op, grad: (
                tf.IndexedSlices(tf.cast(grad, dtype), op.inputs[1], None if shape is None else tf.constant(shape)), None, None)}):
            y = tf.gather(table, tf.constant([1]))
        return tf.gradients(y, table)[0]

    assert isinstance(sliced(tf.float32, [2, 1]), tf.IndexedSlices) and isinstance(sliced(tf.float32, None), tf.IndexedSlices)
    with pytest.raises(gg.GradientError, match="has dtype float64, but the input has float32"):
        sliced(tf.float64, None)
    with pytest.raises(gg.GradientError, match="has shape \\(3, 1\\), but the input has \\(2, 1\\)"):
        sliced(tf.float32, [3, 1])


def test_4_9_a_count_for_several_inputs(graph):
    """Two inputs, two gradients: one, three and None are errors; a list and a tuple are the same."""
    a, b = tf.constant([1.0]), tf.constant([2.0])
    for rule, text in ((lambda op, grad: grad, "returned 1 gradient, but the operation has 2 inputs"),
                       (lambda op, grad: [grad] * 3, "returned 3 gradients, but the operation has 2 inputs"),
                       (lambda op, grad: None, "returned None.*Return one gradient per input \\(2 inputs\\)"),
                       (lambda op, grad: (grad, "b"), "for input 1 \\(Const_1:0\\), is a str, not a tensor")):
        with gg.override_gradients({"Mul": rule}):
            y = a * b
        with pytest.raises(gg.GradientError, match=text):
            tf.gradients(y, [a, b])
    with gg.override_gradients({"Mul": lambda op, grad: [grad, None]}):
        y = a * b
    assert tf.gradients(y, [a, b])[1] is None


def test_4_9_a_gradient_of_two_outputs_is_told_how_to_be_written(graph):
    """One gradient per output comes."""
    with gg.override_gradients({"TopKV2": forty_two}):
        values = tf.nn.top_k(tf.constant([1.0, 2.0]), 1).values
    with pytest.raises(gg.GradientError, match="called with the operation and 2 gradients, one per output: write it as fn\\(op, grad0, grad1\\)"):
        tf.gradients(values, values.op.inputs[0])


def test_what_a_tf_func_gradient_is_given(x):
    """Its own inputs and outputs, the name and type of the operation, and the operation itself; grads of the outputs alone."""
    seen = []

    def grad(op, *grads):
        seen.append((op.name, op.type, op.graph, len(op.inputs), len(op.outputs), op.node.type, len(op.node.inputs), len(grads)))
        return [grads[0], None]

    first, second = gg.tf_func_with_grad(lambda a, b: (a + b, a, b)[:2], [x, 2.0 * x], grad=grad, name="pair")
    assert tf.gradients(first + second, x)[0] is not None
    assert seen == [("pair", "IdentityN", x.graph, 2, 2, "IdentityN", 4, 2)]


def test_blocks_that_cannot_be_opened_leave_nothing(x):
    """The innermost fails, and the outer one is still in force and closes as ever."""
    before = state_of(x.graph)
    with gg.override_gradients({"Relu": forty_two}):
        with pytest.raises(gg.RegistrationError):
            with gg.override_gradients({"Relu": "nobody_registered_this"}):
                pass
        y = tf.nn.relu(x)
    assert _tf.tag_of(y.op) is not None and state_of(x.graph)[:2] == before[:2]


def test_three_blocks_closed_in_the_wrong_order(graph, x):
    """Those that were closed too early end with the innermost; until then they are in force."""
    before = state_of(graph)[:2]
    one, two, three = (gg.override_gradients({kind: forty_two}) for kind in ("Relu", "Elu", "Tanh"))
    for override in (one, two, three):
        override.__enter__()
    for override in (one, two):
        with pytest.raises(gg.OverrideError, match="It stays in force until that one is closed"):
            override.__exit__(None, None, None)
    y = tf.tanh(tf.nn.elu(tf.nn.relu(x)))
    three.__exit__(None, None, None)
    assert state_of(graph)[:2] == before
    assert [override.report[kind].tagged for override, kind in ((one, "Relu"), (two, "Elu"), (three, "Tanh"))] == [
        ["Relu"], ["Elu"], ["Tanh"]]
    assert [_tf.tag_of(op) is not None for op in (tf.nn.relu(y).op, tf.nn.elu(y).op, tf.tanh(y).op)] == [False] * 3


def test_what_a_strict_override_cannot_reach_is_an_error(x):
    """Said at the end of the block, when everything is closed."""
    function = defun(tf.nn.relu)
    before = state_of(x.graph)[:2]
    with pytest.raises(gg.OverrideError, match="Out of reach of the override.*in a Defun"):
        with gg.override_gradients({"Relu": forty_two}, strict=True):
            function(x)
    assert state_of(x.graph)[:2] == before


def test_what_was_there_instead_is_the_most_common(x):
    """Five types at most, the most common first; what the key may have meant comes alone."""
    override = gg.override_gradients({"Relu": forty_two})
    with pytest.warns(gg.OverrideWarning, match="there were Abs \\(6\\), Neg \\(5\\), Exp \\(4\\), Log \\(3\\), Sin \\(2\\). The gradient"):
        with override:
            for number, function in ((1, tf.cos), (3, tf.math.log), (2, tf.sin), (6, tf.abs), (4, tf.exp), (5, tf.negative)):
                for _ in range(number):
                    function(x)
    assert override.report["Relu"].instead == {"Abs": 6, "Neg": 5, "Exp": 4, "Log": 3, "Sin": 2}


def test_reports_of_several_graphs():
    """Those that are alive, and the last; each counts its own operations."""
    override = gg.override_gradients({"Relu": forty_two})
    graphs = [tf.Graph(), tf.Graph()]
    for name, new in zip("ab", graphs):
        with new.as_default(), override:
            tf.nn.relu(tf.constant([1.0]), name=name)
    assert override.report["Relu"].tagged == ["a", "b"]
    with graphs[0].as_default(), override:
        tf.nn.relu(tf.constant([1.0]), name="again")
    assert sorted(override.report["Relu"].tagged) == ["a", "again", "b"]


@pytest.mark.parametrize("seen, hidden", [(1, 1), (2, 1), (1, 2), (0, 1)])
def test_4_2_however_many_are_hidden_from_device_functions(seen, hidden, x, run):
    """What was not seen is found again, whatever part of the block it is."""
    override = gg.override_gradients({"Relu": forty_two})
    with override:
        ys = [tf.nn.relu(x) for _ in range(seen)]
        with tf.device(None):
            ys += [tf.nn.relu(x) for _ in range(hidden)]
    assert [relu_gradient(y, x, run) for y in ys] == [FORTY_TWO] * (seen + hidden)
    assert len(override.report["Relu"].tagged) == seen + hidden


@pytest.mark.parametrize("body", ["while_loop", "cond", "cond_in_while"])
def test_4_2_bodies_hidden_from_device_functions_are_reached(body, control_flow, x, run):
    """Under tf.device(None) in the block, which keeps operations from device functions; afterwards all is ordinary."""
    override = gg.override_gradients({"Relu": forty_two})

    def build():
        with override:
            with tf.device(None):
                return BODIES[body](x)

    if TF1 and control_flow == 2:   # it rebuilds bodies: told
        with pytest.warns(gg.OverrideWarning, match="Out of reach of the override.*hidden by tf.device\\(None\\)"):
            y = build()
        assert relu_gradient(y, x, run) == ORDINARY and override.report["Relu"].tagged == []
        return
    y = build()
    assert relu_gradient(y, x, run) == FORTY_TWO
    assert len(override.report["Relu"].differentiated) == 1
    assert relu_gradient(BODIES[body](x), x, run) == ORDINARY


def test_4_2_what_is_hidden_in_an_inner_block_is_the_inner_blocks(x, run):
    """The outer block looks for what it did not see, and leaves what the inner one, or TensorFlow's map, has taken."""
    gg.register_gradient("test_4_2.nine")(lambda op, grad: 9.0 * grad)
    outer, inner = gg.override_gradients({"Relu": forty_two}), gg.override_gradients({"Relu": lambda op, grad: 7.0 * grad})
    with outer:
        with inner, tf.device(None):
            first = tf.nn.relu(x, name="first")
        with x.graph.gradient_override_map({"Relu": "test_4_2.nine"}), tf.device(None):
            second = tf.nn.relu(x, name="second")
        with tf.device(None):
            third = tf.nn.relu(x, name="third")
    assert [relu_gradient(y, x, run) for y in (first, second, third)] == [[7.0, 7.0], [9.0, 9.0], FORTY_TWO]
    assert (outer.report["Relu"].tagged, inner.report["Relu"].tagged) == (["third"], ["first"])


def test_what_is_hidden_is_counted_once(x):
    """In the warning about a key that matched nothing."""
    with pytest.warns(gg.OverrideWarning, match="'Elu' matched no operation built in the block; there were Relu \\(1\\)"):
        with gg.override_gradients({"Relu": forty_two, "Elu": forty_two}):
            with tf.device(None):
                tf.nn.relu(x)


def test_the_report_of_what_was_never_used():
    """Nothing tagged, and the key matched nothing."""
    report = gg.override_gradients({"Relu": forty_two}).report
    assert (report.tagged, report.unmatched, report["Relu"].missed) == ([], ["Relu"], {})
