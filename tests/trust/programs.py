"""Random programs: plain data that says what to build, and what builds it, on any TensorFlow.

A program is ``{"dtype": name, "steps": [step, ...]}``. A step is a list, ``[kind, argument, ...]``; it takes values
that are there already, counted back from the latest (modulo what there is, so that any numbers make a program),
and adds one of shape [2, 3]. Blocks of steps are the bodies of loops, branches and functions; they see every
value around them. As it is data, the same program is built on two TensorFlows, under any scope, or in another spelling.
"""
import contextlib
import warnings

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
SHAPE = (2, 3)
_WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3) * 0.7
#: Runs a graph as it was built, as rewriting it takes longer than running it, and in one thread: in several, the
#: order in which more than two gradients are added changes from run to run, and the last bit with it.
AS_WRITTEN = tf.ConfigProto(inter_op_parallelism_threads=-1, intra_op_parallelism_threads=1)
AS_WRITTEN.graph_options.rewrite_options.disable_meta_optimizer = True
AS_WRITTEN.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
_FILTER = np.sin(np.arange(4.0) + 1).reshape(2, 2, 1, 1)


def _constant(value, like):
    return tf.constant(value, like.dtype)


#: One operation each, named by its type: what overrides are put on.
SINGLE = {
    "Relu": tf.nn.relu, "Relu6": tf.nn.relu6, "Elu": tf.nn.elu, "Selu": tf.nn.selu, "LeakyRelu": tf.nn.leaky_relu,
    "Softplus": tf.nn.softplus, "Softsign": tf.nn.softsign, "Tanh": tf.tanh, "Sigmoid": tf.sigmoid, "Sin": tf.sin,
    "Cos": tf.cos, "Atan": tf.atan, "Abs": tf.abs, "Neg": tf.negative, "Sign": tf.sign, "Identity": tf.identity,
    "Softmax": tf.nn.softmax, "Erf": tf.math.erf,
}

UNARY = dict(SINGLE)
UNARY.update({
    "square": lambda a: tf.square(tf.nn.softsign(a)),
    "log1p": lambda a: tf.math.log1p(tf.abs(a)),
    "sqrt": lambda a: tf.sqrt(tf.abs(a) + _constant(0.1, a)),
    "rsqrt": lambda a: tf.math.rsqrt(tf.square(a) + _constant(1, a)),
    "clip": lambda a: tf.clip_by_value(a, _constant(-0.5, a), _constant(0.5, a)),
    "cumsum": lambda a: tf.cumsum(a, axis=1),
    "reverse": lambda a: tf.reverse(a, [0, 1]),
    "matmul": lambda a: tf.matmul(a, _constant(_WEIGHTS, a)),
    "gram": lambda a: tf.matmul(tf.matmul(tf.tanh(a), a, transpose_b=True), a) / _constant(9, a),
    "normalise": lambda a: a - tf.reduce_mean(a, axis=1, keepdims=True),
    "log_softmax": lambda a: tf.nn.log_softmax(a),
    "gather": lambda a: tf.gather(a, [1, 1]),
    "concat": lambda a: tf.concat([a[:, 1:], a[:, :1]], 1),
    "stack": lambda a: tf.stack(tf.unstack(a, axis=0)[::-1]),
    "pad": lambda a: tf.reduce_sum(tf.reshape(tf.pad(a, [[0, 2], [0, 0]]), [2, 2, 3]), 0),
    "tile": lambda a: tf.reduce_max(tf.reshape(tf.tile(a, [2, 1]) * _constant(0.5, a), [2, 2, 3]), 0),
    "convolve": lambda a: tf.reshape(tf.nn.conv2d(
        tf.reshape(a, [1, 2, 3, 1]), _constant(_FILTER, a), [1, 1, 1, 1], "SAME"), SHAPE),
    "max_pool": lambda a: tf.reshape(tf.nn.max_pool(
        tf.reshape(a, [1, 2, 3, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), SHAPE),
    "stop": lambda a: a + tf.stop_gradient(tf.sin(a)),
    "through_integers": lambda a: a * tf.cast(tf.cast(tf.floor(a), tf.int32) % 3, a.dtype),
    "cross_entropy": lambda a: a * tf.reshape(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.constant([2, 0]), logits=a), [2, 1]) * _constant(0.2, a),
})

BINARY = {
    "add": lambda a, b: a + b,
    "add_n": lambda a, b: tf.add_n([a, b, a]) / _constant(3, a),
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * tf.nn.softsign(b),
    "divide": lambda a, b: a / (tf.square(b) + _constant(1, a)),
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "squared_difference": lambda a, b: tf.math.squared_difference(tf.tanh(a), tf.tanh(b)),
    "where": lambda a, b: tf.where(a > b, a, tf.sin(b)),
    "broadcast": lambda a, b: a + tf.reduce_sum(b, axis=0, keepdims=True) * _constant(0.3, a),
    "outer": lambda a, b: tf.matmul(a, tf.nn.softsign(b), transpose_a=True)[:2] * _constant(0.5, a),
    "select_columns": lambda a, b: tf.concat([a[:, :1], b[:, 1:]], 1),
}

#: Numbers of steps: 5 to 60, fewer of the large.
SIZES = (5, 5, 8, 8, 10, 12, 16, 20, 30, 60)
CONTROL = ("cond", "while", "map", "scan", "switch", "function")


# What makes a program.

def draw(choose, steps, dtype="float32", control=CONTROL, depth=2):
    """Make a program.

    Args:
        choose: ``choose(n)`` gives an int in 0 .. n-1; random.Random(seed).randrange, or hypothesis's.
        steps: the number of steps, those of all blocks together.
        dtype: of all its values.
        control: the kinds of control flow to use.
        depth: how deep they may nest.
    """
    return {"dtype": dtype, "steps": _draw_block(choose, steps, control, depth)}


def _draw_block(choose, left, control, depth):
    unary, binary = sorted(UNARY), sorted(BINARY)
    block = []
    while left > 0:
        what = choose(8)
        if what == 0 and depth and left >= 3 and control:
            kind = control[choose(len(control))]
            branches = {"cond": 2, "switch": 3}.get(kind, 1)
            inner = []
            for _ in range(branches):
                size = 1 + choose(max(1, min(7, (left - 1) // branches)))
                inner.append(_draw_block(choose, size, control, depth - 1))
                left -= size
            block.append([kind, choose(4), choose(4)] + inner)
        elif what < 4:
            block.append([binary[choose(len(binary))], choose(4), choose(6)])
        else:
            block.append([unary[choose(len(unary))], choose(4)])
        left -= 1
    return block


def count(steps):
    """The number of steps of a block, those in its blocks included."""
    return sum(1 + sum(count(inner) for inner in step[3:]) for step in steps)


def kinds(steps):
    """The kinds of steps of a block and its blocks."""
    found = {step[0] for step in steps}
    for step in steps:
        for inner in step[3:]:
            found |= kinds(inner)
    return found


# What builds it.

class Built:
    """A program in a graph: ``xs``, ``values``, one per outer step, and ``ys``, the last of them and the mean of all."""

    def __init__(self, graph, xs, values):
        self.graph = graph
        self.xs = xs
        self.values = values
        self.ys = results(values)


def results(values):
    """What is differentiated: the last value and the mean of all, which every step has a part in."""
    return [values[-1], tf.reduce_mean(tf.stack(values), 0)]   # add_n adds in the order of the buffers it gets


def inputs(program, variable=True):
    """The inputs of a program: placeholders a and b, and a variable."""
    dtype = tf.as_dtype(program["dtype"])
    xs = [tf.placeholder(dtype, SHAPE, name=name) for name in ("a", "b")]
    if variable:
        xs.append(tf.get_variable("w", initializer=np.asarray(_WEIGHTS[:2], dtype.as_numpy_dtype)))
    return xs


def feeds(program, number=0):
    """Numbers for the placeholders."""
    values = np.sin(np.arange(12.0) * 1.7 + number).reshape((2,) + SHAPE) * 1.5
    return {"a:0": values[0].astype(program["dtype"]), "b:0": values[1].astype(program["dtype"])}


def build(program, single=None):
    """Build a program in the current graph, with inputs of its own; returns a Built."""
    xs = inputs(program)
    return Built(tf.get_default_graph(), xs, evaluate(program, xs, single))


def evaluate(program, xs, single=None):
    """Build the steps of a program on tensors; returns the values of its outer steps.

    Args:
        program: the program.
        xs: tensors or variables of shape [2, 3].
        single: ``{kind: function}``, what to build in place of operations in SINGLE.
    """
    spelled = dict(UNARY)
    spelled.update(single or {})
    xs = [tf.convert_to_tensor(x) for x in xs]
    return _block(program["steps"], xs, spelled)[len(xs):]


def _block(steps, values, spelled):
    values = list(values)
    for step in steps:
        values.append(_step(step, values, spelled))
    return values


def _step(step, values, spelled):
    kind, arguments = step[0], step[1:3]
    a = values[-1 - arguments[0] % len(values)]
    if kind in spelled:
        return spelled[kind](a)
    b = values[-1 - arguments[1] % len(values)]
    if kind in BINARY:
        return BINARY[kind](a, b)

    def body(number):
        return lambda *more: _block(step[3 + number], values + [_shaped(value) for value in more], spelled)[-1]

    if kind == "cond":
        return _shaped(tf.cond(tf.reduce_mean(a) > tf.reduce_mean(b), body(0), body(1)))
    if kind == "while":
        return _shaped(tf.while_loop(lambda i, _: i < 1 + arguments[1] % 3, lambda i, value: (i + 1, body(0)(value)),
                                     [tf.constant(0), a])[1])
    if kind == "map":
        return _shaped(tf.reduce_sum(tf.map_fn(body(0), tf.stack([a, b])), 0) / 2)
    if kind == "scan":
        return _shaped(tf.scan(body(0), tf.stack([a, b]), initializer=a)[-1])
    if kind == "switch":
        return _shaped(tf.switch_case(tf.cast(tf.reduce_sum(a) > 0, tf.int32) + tf.cast(tf.reduce_sum(b) > 0, tf.int32),
                                      [body(0), body(1), body(2)]))
    if kind == "function":
        return _shaped(tensorflow.function(body(0), autograph=False)(a, b))
    raise ValueError("There is no step of kind {!r}.".format(kind))


def _shaped(value):
    value.set_shape(SHAPE)
    return value


@contextlib.contextmanager
def control_flow(version):
    """Build loops and branches in TensorFlow's way 1 or 2 in the block."""
    was_on = tf.control_flow_v2_enabled()
    (tf.enable_control_flow_v2 if version == 2 else tf.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf.enable_control_flow_v2 if was_on else tf.disable_control_flow_v2)()


def run(graph, fetches, program, number=0):
    """Run fetches, None for None, in a Session of their own; a list of arrays."""
    there = [fetch for fetch in fetches if fetch is not None]
    with graph.as_default(), tf.Session(config=AS_WRITTEN) as session:
        session.run(tf.global_variables_initializer())
        came = iter(session.run(there, feeds(program, number)))
    return [None if fetch is None else next(came) for fetch in fetches]


def gradients(built, **options):
    """tf.gradients of the ys with respect to the xs, dense; None where there is none."""
    grad_ys = [tf.constant(np.cos(np.arange(6.0) + place).reshape(SHAPE), y.dtype) for place, y in enumerate(built.ys)]
    with warnings.catch_warnings():   # of tf.gather
        warnings.filterwarnings("ignore", "Converting sparse IndexedSlices to a dense Tensor of unknown shape")
        came = tf.gradients(built.ys, built.xs, grad_ys=grad_ys, **options)
        return [gradient if gradient is None else tf.convert_to_tensor(gradient) for gradient in came]
