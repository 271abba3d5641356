"""py_func_with_grad and tf_func_with_grad: the same call, the same gradient function."""
import gc
import os
import weakref

import numpy as np
import pytest
import tensorflow
from conftest import tf

import graphgrad as gg
from graphgrad import _tf

A, B = np.array([1.0, -2.0], np.float32), np.array([3.0, 4.0], np.float32)


def product_gradient(op, grad):
    a, b = op.inputs
    assert len(op.outputs) == 1
    return grad * b, grad * a


def numpy_form(inputs, grad=product_gradient, **more):
    return gg.py_func_with_grad(np.multiply, inputs, tf.float32, grad=grad, **more)


def stateless_form(inputs):
    return numpy_form(inputs, stateful=False)


def numpy_gradient_form(inputs):
    return numpy_form(inputs, grad=None, numpy_grad=product_gradient)


def tensorflow_form(inputs, grad=product_gradient):
    return gg.tf_func_with_grad(tf.multiply, inputs, grad=grad)


FORMS = [numpy_form, stateless_form, numpy_gradient_form, tensorflow_form]


@pytest.fixture
def inputs(graph):
    return [tf.constant(A), tf.constant(B)]


@pytest.mark.parametrize("form", FORMS)
def test_value_and_gradient(form, inputs, run):
    """The value is the forward's, the gradient the backward's: d(ab) = (b, a)."""
    y = form(inputs)
    value, (da, db) = run([y, tf.gradients(y, inputs)])
    assert (value.tolist(), da.tolist(), db.tolist()) == ((A * B).tolist(), B.tolist(), A.tolist())


@pytest.mark.parametrize("form", FORMS)
def test_in_bodies(form, control_flow, inputs, run):
    """In a loop body, with both control flows: d(a b^2)/da = b^2."""
    y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.reshape(form([y, inputs[1]]), [2])), [0, inputs[0]])[1]
    assert run(tf.gradients(y, inputs[0])[0]).tolist() == (B * B).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_under_a_tape_in_the_graph(form, inputs, run):
    """A tape in the graph sees it too."""
    with tensorflow.GradientTape() as tape:
        tape.watch(inputs[0])
        y = form(inputs)
    assert run(tape.gradient(y, inputs[0])).tolist() == B.tolist()


@pytest.mark.parametrize("form", FORMS)
def test_in_eager_mode(form):
    """In eager mode an eager tape sees it."""
    a, b = tensorflow.constant(A), tensorflow.constant(B)
    with tensorflow.GradientTape() as tape:
        tape.watch(a)
        y = form([a, b])
    assert y.numpy().tolist() == (A * B).tolist()
    assert tape.gradient(y, a).numpy().tolist() == B.tolist()


@pytest.mark.parametrize("forward", [lambda v, w: w, lambda v, w: v * w], ids=["returned", "used"])
def test_what_is_captured_in_eager_mode(forward):
    """An eager tensor and a variable keep their gradient too."""
    v, w = tensorflow.constant(A), tensorflow.constant(B)
    variable = tensorflow.Variable(B)
    for captured in (w, variable):
        with tensorflow.GradientTape() as tape:
            tape.watch(w)
            y = gg.tf_func_with_grad(lambda x, w=captured: tensorflow.convert_to_tensor(forward(x, w)), [v], lambda op, grad: grad)
        assert tape.gradient(y, captured).numpy().tolist() == (np.ones(2) if y.numpy().tolist() == B.tolist() else A).tolist()


def test_an_override_of_pyfunc_outside_does_not_replace_it(inputs, run):
    """A function's own gradient is an inner scope."""
    with gg.override_gradients({"PyFunc": None}):
        y = numpy_form(inputs)
    assert run(tf.gradients(y, inputs[0])[0]).tolist() == B.tolist()


def test_stateless_is_the_other_operation(inputs):
    """TensorFlow's trap: PyFuncStateless is another op type, which the copied recipe does not override."""
    assert [form(inputs).op.type for form in (numpy_form, stateless_form, tensorflow_form)] == [
        "PyFunc", "PyFuncStateless", "IdentityN"]


def test_a_saved_model_is_told_what_was_built_in_python(inputs):
    """TensorFlow asks for a gradient without an operation when it saves one."""
    names = []
    for name, build in (("test_functions.python", numpy_form), ("test_functions.tensorflow", tensorflow_form)):
        gg.register_gradient(name)(lambda op, grad: product_gradient(op, grad))
        names.append(build(inputs, grad=name).op.get_attr("_gradient_op_type").decode())
    with pytest.raises(gg.RegistrationError, match="with which a py_func_with_grad was built: a saved model keeps no Python"):
        _tf.registered_gradient(names[0])(None, 1.0)
    with pytest.raises(gg.RegistrationError, match="without an operation, to store it once for all"):
        _tf.registered_gradient(names[1])(None, 1.0)


def test_a_numpy_gradient_is_run_each_time(inputs):
    """Stateful: TensorFlow neither folds it nor runs two of them as one."""
    y = gg.py_func_with_grad(np.multiply, inputs, tf.float32, numpy_grad=lambda op, grad: (grad, grad), stateful=False)
    gradient = tf.gradients(y, inputs)[0]
    kinds = [op.type for op in _tf.upstream([gradient.op]) - {y.op} if "PyFunc" in op.type]
    assert y.op.type == "PyFuncStateless" and kinds == ["PyFunc"]


def test_several_outputs_one_of_them_integer(graph, run):
    """A list of Tout gives a list; the integer output carries no gradient and disturbs none."""
    x = tf.constant([3.5, 1.5])

    def grad(op, dy, dn):
        return 2.0 * dy

    def tf_forward(v):
        return 2.0 * v, tf.cast(v, tf.int32)

    ours = gg.py_func_with_grad(lambda v: (2 * v, v.astype(np.int32)), [x], [tf.float32, tf.int32], grad=grad)
    theirs = gg.tf_func_with_grad(tf_forward, [x], grad=grad)
    for y, n in (ours, theirs):
        assert [v.tolist() for v in run([y, n, tf.gradients(y, x)[0]])] == [[7.0, 3.0], [3, 1], [2.0, 2.0]]


def test_static_shapes(graph, run):
    """Given, or a function of the inputs' shapes; unknown otherwise."""
    x = tf.placeholder(tf.float32, [None, 3])
    assert numpy_form([x, x]).shape.rank is None
    assert numpy_form([x, x], output_shapes=[None, 3]).shape.as_list() == [None, 3]
    assert numpy_form([x, x], output_shapes=lambda a, b: a).shape.as_list() == [None, 3]
    with pytest.raises(ValueError, match="output_shapes declares 1 shape\\(s\\), but Tout 2"):
        gg.py_func_with_grad(lambda a: (a, a), [x], [tf.float32, tf.float32], output_shapes=[[None, 3]])


def failing(error):
    def fails(a, b):
        raise error
    return fails


@pytest.mark.parametrize("forward, text, more", [
    (failing(KeyError("hm")), "numpy forward 'failing.<locals>.fails' \\(.*test_functions.py:\\d+\\) raised KeyError: 'hm'", {}),
    (failing(ValueError("hm")), "raised ValueError: hm", {}),
    (lambda a, b: (a * b).astype(np.float64), "returned output 0 of dtype float64, but float32 was declared", {}),
    (lambda a, b: (a, b), "returned 2 output\\(s\\), but Tout declares 1", {}),
    (lambda a, b: np.zeros(7, np.float32), "returned output 0 of shape \\(7,\\), but \\(2,\\) was declared",
     {"output_shapes": [2]}),
], ids=["raises", "raises_value", "dtype", "count", "shape"])
def test_a_broken_forward_is_named_when_it_runs(forward, text, more, inputs, run):
    """The function, its file and line, what came and what was declared."""
    y = gg.py_func_with_grad(forward, inputs, tf.float32, grad=product_gradient, **more)
    with pytest.raises(tf.errors.OpError, match=text):
        run(y)


@pytest.mark.parametrize("backward, text", [
    (lambda op, grad: (np.zeros(7, np.float32), None), "numpy gradient .*a gradient of shape \\(7,\\), but \\(2,\\)"),
    (lambda op, grad: (grad.astype(np.float64), None), "of dtype float64, but float32 was declared"),
    (lambda op, grad: grad, "returned 1 gradient\\(s\\) for operation .*, which has 2 input"),
], ids=["shape", "dtype", "count"])
def test_a_broken_numpy_gradient_is_named_when_it_runs(backward, text, inputs, run):
    """TensorFlow lets a numpy gradient of seven elements pass for one of two."""
    y = numpy_form(inputs, grad=None, numpy_grad=backward)
    with pytest.raises(tf.errors.OpError, match=text):
        run(tf.gradients(y, inputs)[0])


def test_a_gradient_whose_shape_only_the_run_knows_is_checked(graph, run):
    """Unknown batch size: a gradient of another size is an error when it runs, not a wrong number."""
    x = tf.placeholder(tf.float32, [None])
    for form in (lambda grad: gg.py_func_with_grad(np.abs, [x], tf.float32, grad=grad),
                 lambda grad: gg.tf_func_with_grad(tf.abs, [x], grad=grad)):
        def doubled(op, grad):
            return tf.concat([op.inputs[0], op.inputs[0]], 0)

        dx = tf.gradients(form(doubled), x)[0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="its shape is not the shape of input"):
            run(dx, {x: A})


@pytest.mark.parametrize("form", [numpy_form, lambda inputs, grad: gg.tf_func_with_grad(tf.multiply, inputs, grad=grad)])
def test_the_contract_of_gradient_functions_holds_here_too(form, inputs):
    """One gradient where two are due: the error of 4.9."""
    y = form(inputs, grad=lambda op, grad: grad)
    with pytest.raises(gg.GradientError, match="returned 1 gradient, but the operation has 2 inputs"):
        tf.gradients(y, inputs)


def test_variables_and_captured_tensors_keep_their_ordinary_gradient(control_flow, graph, run):
    """What tf_func uses without its being an input is differentiated as always; tf.custom_gradient raises."""
    x = tf.constant([2.0, 3.0])
    captured = tf.constant([5.0, 7.0])
    w = tf.get_variable("w", initializer=[1.0, 1.0])
    y = gg.tf_func_with_grad(lambda v: v * w * captured, [x], grad=lambda op, grad: 100.0 * grad)
    dx, dw, dc = run(tf.gradients(y, [x, w, captured]))
    assert (dx.tolist(), dw.tolist(), dc.tolist()) == ([100.0, 100.0], [10.0, 21.0], [2.0, 3.0])


def within_a_loop(build, x):
    return tf.while_loop(lambda i, v: i < 1, lambda i, v: (i + 1, build(v)), [0, x])[1]


def within_a_branch(build, x):
    return tf.cond(tf.constant(True), lambda: build(x), lambda: x)


def within_a_function(build, x):
    return tensorflow.function(build)(x)


@pytest.mark.parametrize("around", [lambda build, x: build(x), within_a_loop, within_a_branch, within_a_function],
                         ids=["plain", "loop", "branch", "function"])
@pytest.mark.parametrize("kind", ["tensor", "ref", "resource", "behind", "returned"])
def test_each_thing_that_is_captured_alone_keeps_its_gradient(control_flow, graph, run, around, kind):
    """A forward that captures one thing is not taken for one that captures nothing."""
    x = tf.constant([2.0, 3.0])
    start = np.float32([5.0, 7.0])
    captured = tf.get_variable("w", initializer=start, use_resource=kind == "resource") if kind in (
        "ref", "resource") else tf.constant(start)
    forward = {"behind": lambda v: captured + tf.constant(1.0), "returned": lambda v: captured}.get(
        kind, lambda v: tf.sin(v) * captured)
    y = around(lambda v: gg.tf_func_with_grad(forward, [v], grad=lambda op, grad: 100.0 * grad), x)
    dx, dc = run(tf.gradients(y, [x, captured]))
    assert dx.tolist() == [100.0, 100.0]
    np.testing.assert_allclose(dc, np.ones(2) if kind in ("behind", "returned") else np.sin([2.0, 3.0]), rtol=1e-6)


def test_a_variable_that_the_forward_makes_keeps_its_gradient(graph, run):
    """tf.get_variable in the forward, as layers have it."""
    x = tf.constant([2.0, 3.0])
    y = gg.tf_func_with_grad(lambda v: v * tf.get_variable("w", initializer=[5.0, 7.0]), [x], grad=lambda op, grad: grad)
    assert run(tf.gradients(y, tf.trainable_variables())[0]).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("around", [lambda build, x: build(x), within_a_loop, within_a_branch, within_a_function],
                         ids=["plain", "loop", "branch", "function"])
def test_a_forward_that_captures_nothing_is_not_differentiated(control_flow, graph, run, around):
    """Nothing would come of it."""
    x = tf.constant([2.0, 3.0])
    y = around(lambda v: gg.tf_func_with_grad(lambda u: tf.tanh(u * 2.0), [v], grad=lambda op, grad: 100.0 * grad), x)
    dx = tf.gradients(y, x)[0]
    assert run(dx).tolist() == [100.0, 100.0]
    definition = graph.as_graph_def()
    kinds = [node.op for nodes in [definition.node] + [one.node_def for one in definition.library.function] for node in nodes]
    assert "Tanh" in kinds and "TanhGrad" not in kinds


def test_hard_attention(graph, run):
    """A sampled mask, which no op override can carry: the path is cut at the comparison, and here it is not."""
    p = tf.constant([0.2, 0.8])
    y = gg.tf_func_with_grad(lambda q: tf.cast(q > 0.5, tf.float32), [p], grad=lambda op, grad: 3.0 * grad)
    assert run(tf.gradients(y, p)[0]).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("call, text", [
    (lambda x: gg.py_func_with_grad(3, [x], tf.float32), "func must be a callable over numpy arrays"),
    (lambda x: gg.py_func_with_grad(np.abs, [x], tf.float32, grad=product_gradient, numpy_grad=product_gradient),
     "grad or numpy_grad, not both"),
    (lambda x: gg.py_func_with_grad(np.abs, [x], tf.float32, numpy_grad=3), "numpy_grad must be a callable"),
    (lambda x: gg.tf_func_with_grad(tf.abs, [x], grad=None), "needs grad"),
    (lambda x: gg.tf_func_with_grad(lambda v: object(), [x], grad=product_gradient), "must return a tensor or a sequence"),
], ids=["func", "both", "numpy_grad", "no_grad", "no_tensor"])
def test_bad_arguments(graph, call, text):
    """One sentence each, when it is built."""
    with pytest.raises(TypeError, match=text):
        call(tf.constant(A))


def test_tokens_are_of_this_process(inputs):
    """No pyfunc_0 that another process has too: the token has the function's name and this process in it."""
    token = numpy_form(inputs).op.get_attr("token").decode()
    assert token.startswith("multiply@") and token.rsplit(".", 1)[1].isdigit()


def test_functions_go_with_their_graphs():
    """The forward, the gradient and their names are dropped with the graph."""
    gc.collect()
    names = set(_tf.registered_names())
    gone = []
    for number in range(20):
        with tf.Graph().as_default():
            x = tf.constant(A)

            def forward(a, number=number):
                return a + number

            def grad(op, dy, number=number):
                return dy * number

            y = gg.py_func_with_grad(forward, [x], tf.float32, grad=grad)
            z = gg.tf_func_with_grad(tf.abs, [x], grad=grad)
            tf.gradients(y + z, x)
            gone += [weakref.ref(forward), weakref.ref(grad)]
            del forward, grad, x, y, z
    gc.collect()
    assert [reference() for reference in gone] == [None] * len(gone)
    assert set(_tf.registered_names()) - names <= {"graphgrad.bound"}


def test_a_name_of_tensorflows_for_a_gradient(graph, run):
    """An op type whose gradient takes the same inputs and outputs: Square's, of a forward that is something else."""
    x = tf.constant([3.0, -2.0])
    y = gg.tf_func_with_grad(tf.exp, [x], grad="Square")
    np.testing.assert_allclose(run(y), np.exp([3.0, -2.0]), rtol=1e-6)
    np.testing.assert_allclose(run(tf.gradients(y, x)[0]), [6.0, -4.0])


def test_a_forward_that_cannot_be_called_is_refused(graph):
    """Both ways to say it."""
    with pytest.raises(TypeError, match="func must be a callable over tensors, but got 3"):
        gg.tf_func_with_grad(3, [tf.constant(1.0)], grad="Identity")


def test_tokens_of_a_forked_process_are_its_own(inputs, tmp_path):
    """Two processes after a fork would otherwise make the same tokens."""
    def process():
        return numpy_form(inputs).op.get_attr("token").decode().split("@")[1].split(".")[1]

    ours, child = process(), os.fork()
    if not child:
        try:
            (tmp_path / "token").write_text(process())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert process() == ours != (tmp_path / "token").read_text()


def test_a_numpy_gradient_of_inputs_and_outputs_of_several_types(graph, run):
    """It is given all of them as arrays, zeros where no gradient came; an integer input has none, None is zeros."""
    seen = []

    def forward(a, n, b):
        return a * b, np.int32(7) * n

    def backward(op, dy, dk):
        seen.append((type(op.inputs), [v.tolist() for v in op.inputs], [v.tolist() for v in op.outputs], dy.tolist(), dk.tolist()))
        return 2 * dy, None, None

    a, n, b = tf.constant([1.0, 2.0]), tf.constant([3, 4]), tf.placeholder_with_default(tf.constant([5.0, 6.0]), [2])
    y, k = gg.py_func_with_grad(forward, [a, n, b], [tf.float32, tf.int32], numpy_grad=backward, name="mixed")
    da, dn, db = tf.gradients(y, [a, n, b], grad_ys=tf.constant([10.0, 20.0]))
    assert dn is None and da.shape.as_list() == db.shape.as_list() == [2] and y.op.name == "mixed"
    assert [value.tolist() for value in run([da, db, k])] == [[20.0, 40.0], [0.0, 0.0], [21, 28]]
    assert seen == [(list, [[1.0, 2.0], [3, 4], [5.0, 6.0]], [[5.0, 12.0], [21, 28]], [10.0, 20.0], [0, 0])]
    only = gg.py_func_with_grad(lambda n: np.float32(1) * n, [n], tf.float64, numpy_grad=backward)
    assert tf.gradients(only, n) == [None]


def test_a_numpy_gradient_of_complex_values(graph, run):
    """They are differentiated as floating ones are."""
    z = tf.constant([1.0 + 2.0j], tf.complex64)
    y = gg.py_func_with_grad(lambda z: 3 * z, [z], tf.complex64, numpy_grad=lambda op, grad: 3 * grad)
    assert run(tf.gradients(y, z, grad_ys=tf.constant([1.0j], tf.complex64))[0]).tolist() == [3j]


@pytest.mark.parametrize("error, kind", [
    (ValueError, "InvalidArgumentError"), (TypeError, "InvalidArgumentError"), (StopIteration, "OutOfRangeError"),
    (MemoryError, "ResourceExhaustedError"), (NotImplementedError, "UnimplementedError"), (KeyError, "UnknownError"),
    (UnicodeError, "InvalidArgumentError")])
def test_an_exception_becomes_the_error_that_tf_py_func_makes_of_it(error, kind, inputs, run):
    """Old code catches these: OutOfRangeError ends a data set."""
    ours = gg.py_func_with_grad(failing(error("hm")), inputs, tf.float32)
    theirs = tf.py_func(failing(error("hm")), inputs, tf.float32)
    for y in (ours, theirs):
        with pytest.raises(getattr(tf.errors, kind), match="hm"):
            run(y)


def test_what_a_forward_may_return(graph, run):
    """A Python number has no dtype of its own; numpy's have, and nothing is cast; text; a list or tuple for one output."""
    x = tf.constant([1.0])
    for value, dtype, want in ((1, tf.float32, 1.0), (True, tf.float64, 1.0), (2.0, tf.int32, 2), (1 + 2j, tf.complex64, 1 + 2j),
                               (np.int64(3), tf.int64, 3), (b"ab", tf.string, b"ab"), ("ab", tf.string, b"ab"),
                               (np.array(["a", "b"]), tf.string, [b"a", b"b"]), ([np.float32(4)], tf.float32, 4.0)):
        assert np.asarray(run(gg.py_func_with_grad(lambda x, value=value: value, [x], dtype))).tolist() == want
    for value, dtype, text in ((np.float64(1), tf.float32, "output 0 of dtype float64, but float32"),
                               (np.array([1]), tf.string, "of dtype int64, but object was declared"),
                               (np.zeros([2, 4], np.float32), tf.float32, "shape \\(2, 4\\), but \\(\\?, 3\\) was declared"),
                               (np.zeros([3], np.float32), tf.float32, "shape \\(3,\\), but \\(\\?, 3\\) was declared"),
                               (np.zeros([1, 2, 3], np.float32), tf.float32, "shape \\(1, 2, 3\\), but \\(\\?, 3\\)")):
        y = gg.py_func_with_grad(lambda x, value=value: value, [x], dtype, output_shapes=[None, 3])
        with pytest.raises(tf.errors.OpError, match=text):
            run(y)
    pair = gg.py_func_with_grad(lambda x: (np.zeros([5, 3], np.float32), x), [x], [tf.float32, tf.float32],
                                output_shapes=[[None, 3], None])
    assert [y.shape.rank for y in pair] == [2, None] and run(pair)[0].shape == (5, 3)


def test_one_function_twice_has_two_tokens(inputs):
    """Each operation runs its own; TensorFlow looks the function up by its token."""
    tokens = [numpy_form(inputs).op.get_attr("token") for _ in range(3)]
    assert len(set(tokens)) == 3


@pytest.mark.parametrize("form", FORMS)
def test_one_input_and_lists_of_one(form, graph, run):
    """A tensor, or a list of it; names as TensorFlow gives them; a sequence of one output is a list of one."""
    x = tf.constant([3.0])
    with tf.name_scope("scope"):
        one = gg.py_func_with_grad(np.square, x, tf.float32, grad=lambda op, grad: 2.0 * op.inputs[0] * grad, name="one")
        other = gg.tf_func_with_grad(lambda x: [tf.square(x)], x, grad=lambda op, grad: 2.0 * op.inputs[0] * grad, name="other")
    assert isinstance(other, list) and one.op.name == "scope/one" and other[0].op.name == "scope/other"
    assert [v.tolist() for v in run([one, other[0], tf.gradients(one, x)[0], tf.gradients(other, x)[0]])] == [
        [9.0], [9.0], [6.0], [6.0]]
    listed = gg.py_func_with_grad(lambda x: [x], [x], [tf.float32])
    assert isinstance(listed, list) and run(listed)[0].tolist() == [3.0]


def test_a_gradient_of_the_right_shape_costs_nothing(graph):
    """Where the static shapes say it all, no check is built; where they do not, one for each input."""
    def checks():
        return sum(op.type == "Assert" for op in graph.get_operations())

    known, unknown = tf.constant(A), tf.placeholder(tf.float32, [None])
    tf.gradients(gg.py_func_with_grad(np.abs, [known], tf.float32, grad=lambda op, grad: tf.reshape(grad, [2])), known)
    assert checks() == 0
    tf.gradients(gg.py_func_with_grad(np.abs, [unknown], tf.float32, grad=lambda op, grad: grad * 2.0), unknown)
    assert checks() == 1


def test_inside_a_block_only_the_function_has_its_gradient(graph, run):
    """What a forward in TensorFlow builds besides keeps its own gradients, IdentityN too."""
    x, w = tf.constant([2.0]), tf.constant([5.0])

    def forward(v):
        return tf.identity_n([v * w])[0]

    y = gg.tf_func_with_grad(forward, [x], grad=lambda op, grad: 100.0 * grad)
    assert [g.tolist() for g in run(tf.gradients(y, [x, w]))] == [[100.0], [2.0]]
