"""Form 2, ``override.on(graph)``: operations that exist already (design 4.7)."""
import warnings

import pytest
from conftest import TF1, tf
from test_overrides import FORTY_TWO, ORDINARY, defun, forty_two, recomputed, relu_gradient, state_of, tf_function

import graphgrad as gg

BODIES = ["plain", "while_loop", "cond", "switch_case", "map_fn", "scan", "cond_in_while", "while_in_cond"]


@pytest.fixture
def x(graph):
    return tf.constant([-1.0, 2.0])


@pytest.mark.parametrize("body", BODIES)
def test_4_7_existing_operations_are_overridden_and_put_back(body, control_flow, x, run):
    """Inside the block the gradient is the override's; before and after it is the ordinary one; the graph is as it was."""
    from test_overrides import BODIES as BUILD
    y = BUILD[body](x)
    if TF1 and any(op.type in ("While", "StatelessWhile", "If", "StatelessIf", "Case")
                   for op in x.graph.get_operations()):
        with pytest.raises(gg.OverrideError, match="which has Relu in it, and TensorFlow 1.15.5 rebuilds that function"):
            with gg.override_gradients({"Relu": forty_two}).on(x.graph):
                pass
        assert relu_gradient(y, x, run) == ORDINARY
        return
    before = tf.gradients(y, x)[0]
    tags = state_of(x.graph)
    with gg.override_gradients({"Relu": forty_two}).on(x.graph):
        inside = tf.gradients(y, x)[0]
    after = tf.gradients(y, x)[0]
    assert [run(g).tolist() for g in (before, inside, after)] == [ORDINARY, FORTY_TWO, ORDINARY]
    assert state_of(x.graph)[2][:len(tags[2])] == tags[2]


def test_4_7_operations_a_session_has_run(x, capfd):
    """Also after a Session ran them, and without TensorFlow's mutation warning."""
    y = tf.nn.relu(x)
    with tf.Session() as session:
        session.run(y)
        with gg.override_gradients({"Relu": forty_two}).on(x.graph):
            dx = tf.gradients(y, x)[0]
        assert session.run(dx).tolist() == FORTY_TWO
    assert "changed by setting attribute" not in capfd.readouterr().err


def test_4_7_an_exception_puts_everything_back(x, run):
    """Leaving by an exception is leaving."""
    y = tf.nn.relu(x)
    with pytest.raises(ZeroDivisionError):
        with gg.override_gradients({"Relu": forty_two}).on():
            raise ZeroDivisionError()
    assert relu_gradient(y, x, run) == ORDINARY


def test_4_7_nested_blocks_the_innermost_wins(x, run):
    """on() in on(), and on() over what a with block built."""
    with gg.override_gradients({"Relu": lambda op, grad: 3.0 * grad}):
        y = tf.nn.relu(x)
    gradients = []
    with gg.override_gradients({"Relu": forty_two}).on():
        gradients.append(tf.gradients(y, x)[0])
        with gg.override_gradients({"Relu": "Relu"}).on():
            gradients.append(tf.gradients(y, x)[0])
        gradients.append(tf.gradients(y, x)[0])
    gradients.append(tf.gradients(y, x)[0])
    assert [run(g).tolist() for g in gradients] == [FORTY_TWO, ORDINARY, FORTY_TWO, [3.0, 3.0]]


@pytest.mark.parametrize("where", ["one/", lambda op: op.name.startswith("one/")], ids=["scope", "predicate"])
def test_4_7_where_selects(where, x, run):
    """By name pattern or predicate; what is left out is in the report."""
    with tf.name_scope("one"):
        one = tf.nn.relu(x)
    with tf.name_scope("two"):
        two = tf.nn.relu(x)
    override = gg.override_gradients({"Relu": forty_two})
    with override.on(where=where):
        gradients = tf.gradients(one, x)[0], tf.gradients(two, x)[0]
    assert [g.tolist() for g in run(gradients)] == [FORTY_TWO, ORDINARY]
    assert override.report["Relu"].missed == {"two/Relu": "not selected"}


def test_4_7_between_selects(x, run):
    """Only what is on a path from x to y."""
    first = tf.nn.relu(x)
    second = tf.nn.relu(first + 1.0)
    with gg.override_gradients({"Relu": lambda op, grad: 5.0 * grad}).on(between=(first, second)):
        dx = tf.gradients(second, x)[0]
    assert run(dx).tolist() == [0.0, 5.0]
    with pytest.raises(gg.OverrideError, match="no path leads from Relu_1:0 to Relu:0"):
        with gg.override_gradients({"Relu": forty_two}).on(between=(second, first)):
            pass


def test_4_7_a_block_without_a_gradient_is_told(x):
    """Nobody called tf.gradients in the block: the usual mistake, and TensorFlow says nothing."""
    tf.nn.relu(x)
    with pytest.warns(gg.OverrideWarning, match="No gradient was built through any of the 1 operation.*inside the block"):
        with gg.override_gradients({"Relu": forty_two}).on():
            pass


def test_4_7_nothing_selected_is_told_and_strict_raises(x):
    """A type that is not in the graph: the warning of 4.5."""
    tf.nn.elu(x)
    with pytest.raises(gg.OverrideError, match="'Relu' matched no operation that on\\(\\) selected; there were Elu"):
        with gg.override_gradients({"Relu": forty_two}, strict=True).on():
            pass


@pytest.mark.parametrize("arguments, text", [
    (dict(graph=3), "takes a tf.Graph, but got 3"), (dict(where=3), "where must be a name pattern or a predicate"),
    (dict(where="("), "is not a regular expression"), (dict(between=3), "between must be \\(xs, ys\\)"),
    (dict(between=(1, 2)), "between takes tensors of a graph")], ids=["graph", "where", "pattern", "pair", "tensors"])
def test_4_7_bad_arguments(x, arguments, text):
    """One sentence each."""
    tf.nn.relu(x)
    with pytest.raises(gg.OverrideError, match=text):
        with gg.override_gradients({"Relu": forty_two}).on(**arguments):
            pass


def test_4_7_a_function_call_is_right_once_or_refused(x, run):
    """A tf.function call: TensorFlow keeps its backward, so never an old or an overridden one in silence."""
    function = tf_function(tf.nn.relu)
    y, again = function(x), function(x)
    override = gg.override_gradients({"Relu": forty_two})
    if TF1:
        with pytest.raises(gg.OverrideError, match="rebuilds that function|keeps out of reach"):
            with override.on():
                pass
        return
    with override.on():
        inside = tf.gradients(y, x)[0]
    assert run(inside).tolist() == FORTY_TWO
    with pytest.raises(gg.OverrideError, match="was differentiated inside an on\\(\\) block.*Call the function once more"):
        tf.gradients(y, x)
    assert relu_gradient(again, x, run) == ORDINARY
    with pytest.raises(gg.OverrideError, match="whose backward TensorFlow has built and kept"):
        with override.on():
            pass


def test_4_7_a_traced_function_graph_is_refused():
    """The graph inside a concrete function belongs to TensorFlow's cache of backwards."""
    import tensorflow
    concrete = tensorflow.function(tf.nn.relu).get_concrete_function(tensorflow.TensorSpec([2], tf.float32))
    with pytest.raises(gg.OverrideError, match="override\\(function\\)\\(x\\)"):
        with gg.override_gradients({"Relu": forty_two}).on(concrete.graph):
            pass


def test_4_7_a_finalized_graph_can_be_bound(x):
    """Nothing is written into the graph, so a finalized one is no obstacle; building the gradient is."""
    tf.nn.relu(x)
    x.graph.finalize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gg.OverrideWarning)
        with gg.override_gradients({"Relu": forty_two}).on():
            pass


def test_4_7_under_the_recorder(x, run, tmp_path):
    """The recorder wraps TensorFlow's look-up of gradients: bindings hold under it all the same."""
    from graphgrad.golden.recorder import Recorder
    y = tf.nn.relu(x)
    with Recorder() as recorder:
        with gg.override_gradients({"Relu": gg.register_gradient("test_under_the_recorder")(forty_two)}).on():
            dx = tf.gradients(y, x)[0]
        assert run(dx).tolist() == FORTY_TWO
    recorder.save(str(tmp_path / "under.npz"))
    assert recorder.meta["overrides"] == [
        {"op_type": "Relu", "tag": "test_under_the_recorder", "tagged": 1, "differentiated": 1}]


def test_4_7_an_identity_n_that_carries_a_functions_gradient_keeps_it(x, run):
    """An override of IdentityN is not meant for what stands for a tf.custom_gradient or a tf_func_with_grad."""
    @tf.custom_gradient
    def three(y):
        return tf.identity(y), lambda grad: 3.0 * grad

    y = three(x) + gg.tf_func_with_grad(tf.identity, [x], grad=lambda op, grad: 4.0 * grad) + tf.identity_n([x])[0]
    override = gg.override_gradients({"IdentityN": forty_two})
    with override.on():
        dx = tf.gradients(y, x)[0]
    assert run(dx).tolist() == [3.0 + 4.0 + 42.0] * 2
    assert sorted(override.report["IdentityN"].missed.values()) == [
        "it carries a tf.custom_gradient", "it carries a tf_func_with_grad"]


def test_4_7_a_recomputed_function(x, run):
    """What tf.recompute_grad builds when it is differentiated is under the override too, or on() refuses."""
    y = recomputed(tf.nn.relu)(x)
    override = gg.override_gradients({"Relu": forty_two})
    with override.on():
        inside = tf.gradients(y, x)[0]
    assert [run(g).tolist() for g in (inside, tf.gradients(y, x)[0])] == [FORTY_TWO, ORDINARY]
    with pytest.raises(gg.OverrideError, match="is a tf.recompute_grad, which builds its function again"):
        with override.on(where=".*"):
            pass


def test_4_7_a_defun_is_refused(x, run):
    """TensorFlow differentiates a Defun in C++."""
    y = defun(tf.nn.relu)(x)
    with pytest.raises(gg.OverrideError, match="which has Relu in it.*differentiates a Defun in C\\+\\+"):
        with gg.override_gradients({"Relu": forty_two}).on():
            pass
    assert relu_gradient(y, x, run) == ORDINARY


def test_4_7_a_defun_with_nothing_selected_in_it_is_let_alone(x, run):
    """Of other types, or outside of where=."""
    y = defun(tf.tanh)(tf.nn.relu(x))
    with gg.override_gradients({"Relu": forty_two}).on():
        assert run(tf.gradients(y, x)[0]).min() > 1
    z = defun(tf.nn.relu)(tf.nn.relu(x, name="chosen"))
    with gg.override_gradients({"Relu": forty_two}).on(where="chosen"):
        assert relu_gradient(z, x, run) == FORTY_TWO


def test_strict_and_nothing_differentiated(graph):
    """What is a warning otherwise."""
    tf.nn.relu(tf.constant([1.0]))
    with pytest.raises(gg.OverrideError, match="No gradient was built through any of the 1 operation that on\\(\\) overrode"):
        with gg.override_gradients({"Relu": forty_two}, strict=True).on(graph):
            pass


def test_in_eager_mode_a_graph_must_be_given():
    """There is no current one."""
    with pytest.raises(gg.OverrideError, match="on\\(\\) needs a graph, and in eager mode there is no current one"):
        with gg.override_gradients({"Relu": forty_two}).on():
            pass


def test_between_takes_lists_and_bodies_on_the_path(control_flow, x, run):
    """Lists of tensors; the operations in a body belong to the loop that runs them."""
    from test_overrides import BODIES as BUILD
    first = BUILD["while_loop"](x)
    second = BUILD["while_loop"](first + 1.0)
    override = gg.override_gradients({"Relu": lambda op, grad: 5.0 * grad})
    if TF1 and control_flow == 2:
        with pytest.raises(gg.OverrideError, match="rebuilds that function"):
            with override.on(between=([first], [second])):
                pass
        return
    with override.on(between=([first], [second])):
        dx = tf.gradients(second, x)[0]
    assert run(dx).tolist() == [0.0, 5.0]
    assert len(override.report["Relu"].differentiated) == 1
    for value in (3, (first,), (first, second, first), ([first], [3])):
        with pytest.raises(gg.OverrideError, match="between (must be|takes)"):
            with override.on(between=value):
                pass


def test_where_sees_the_operations_of_bodies(x, run):
    """A name in a body begins with that of the operation that runs it; a pattern must match from the start."""
    was_on = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        y = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, tf.nn.relu(y, name="inner")), [0, x], name="loop")[1]
    finally:
        if not was_on:
            tf.disable_control_flow_v2()
    seen = []
    override = gg.override_gradients({"Relu": forty_two})
    for where, want in (("inner", ORDINARY), ("loop/inner", FORTY_TWO), (lambda op: seen.append(op.name) or True, FORTY_TWO)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gg.OverrideWarning)
            if TF1 and want == FORTY_TWO:   # it rebuilds bodies
                with pytest.raises(gg.OverrideError, match="has Relu in it.*leave them out with where="):
                    override.on(where=where).__enter__()
                continue
            with override.on(where=where):
                dx = tf.gradients(y, x)[0]
        assert run(dx).tolist() == want
        assert list(override.report["Relu"].missed.values()) == (["not selected"] if want == ORDINARY and not TF1 else [])
    assert seen == ([] if TF1 else ["inner"])


def test_what_on_gives_and_the_warning_of_nothing(x):
    """The override itself, to read its report from; nothing is said if a gradient was built, of one operation or two."""
    y = tf.nn.relu(tf.nn.relu(x))
    override = gg.override_gradients({"Relu": forty_two})
    with override.on() as given:
        assert given is override
        tf.gradients(y, x)
    assert override.report["Relu"].tagged == ["Relu", "Relu_1"] == sorted(override.report["Relu"].differentiated)
    with pytest.warns(gg.OverrideWarning, match="any of the 2 operations that on\\(\\) overrode") as caught:
        with override.on():
            pass
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(gg.OverrideWarning, match="'Elu' matched no operation that on\\(\\) selected") as caught:
        with gg.override_gradients({"Elu": forty_two, "Relu": forty_two}).on():
            tf.gradients(y, x)
    assert [warning.filename for warning in caught] == [__file__]


def test_on_in_the_graph_of_a_function_that_is_being_traced():
    """Inside the function it is the current graph; from outside it is refused."""
    import tensorflow

    @tensorflow.function(autograph=False)
    def gradient(x):
        y = tf.nn.relu(x)
        with gg.override_gradients({"Relu": forty_two}).on():
            return tf.gradients(y, x)[0], tf.gradients(tf.nn.relu(x), x)[0]

    assert [value.numpy().tolist() for value in gradient(tensorflow.constant([-1.0, 2.0]))] == [FORTY_TWO, ORDINARY]


def test_what_on_left_out_is_said_to_be(x):
    """Also by an override that was a block in the same graph before."""
    tf.nn.relu(x, name="early")
    override = gg.override_gradients({"Relu": forty_two})
    with override:
        y = tf.nn.relu(x, name="inside")
    assert override.report["Relu"].missed == {"early": "built before the block"}
    with override.on(where="inside"):
        tf.gradients(y, x)
    assert override.report["Relu"].missed == {"early": "not selected"}
