"""The seeds of random operations as TF 1.x derives them, so that a script with a graph seed draws its old numbers.

With a graph seed and no op seed, 1.x takes the number of operations built so far in the graph as the op seed; 2.x
counts 0, 1, 2. The count is that of TF 1.15.5: where a function builds other operations on 2.x, the difference
is added, part of it before the function draws its seed. The table was made by counting on 1.15.5, 2.15.1 and 2.21.
"""
import functools
import importlib
import numbers
import sys
import weakref

from .shims import has_keras_3

_OPS = "tensorflow.python.ops."
#: {graph: operations that 1.15 would have built on top of those that are there}
_missing = weakref.WeakKeyDictionary()


def _random_uniform(graph, shape, minval=0, maxval=None, dtype=None, *args, **kwargs):
    if dtype is not None and getattr(importlib.import_module("tensorflow").as_dtype(dtype), "is_integer", False):
        return 0, 0
    if not (isinstance(minval, int) and minval == 0):
        return 0, 0
    one = maxval is None or (isinstance(maxval, int) and maxval == 1)
    return (2, 5) if one else (0, 2)      # min and max, and sub, mul, add: today RandomUniform alone, or a Mul


def _dropout(graph, x, rate, *args, **kwargs):
    if isinstance(rate, numbers.Real):
        if rate == 0:
            return 0, 0
        context = graph._get_control_flow_context()
        outside = context is not None and getattr(x, "op", None) is not None and \
            x.op._get_control_flow_context() is not context
        return (-2 if outside else -1), 3   # x is switched into a branch before the seed is drawn today, then after it
    return -3, 2


def _constant(before, total):
    return lambda graph, *args, **kwargs: (before, total)


#: (module, function, names under tf.compat.v1 (after a bar: under tf and tf.compat.v2), rule). A rule gives how many
#: operations more 1.15 has built when the function draws its seed, and at its end; what functions that it calls add is
#: not counted twice.
_RULES = (
    (_OPS + "random_ops", "random_uniform", ("random_uniform", "random.uniform", "|random.uniform"), _random_uniform),
    (_OPS + "random_ops", "random_gamma", ("random_gamma", "random.gamma", "|random.gamma"), _constant(-2, -2)),
    (_OPS + "nn_ops", "dropout_v2", ("|nn.dropout",), _dropout),
    (_OPS + "nn_ops", "convolution_internal", (), _constant(0, 1)),       # dilation_rate
    (_OPS + "array_ops", "split", ("split", "|split"), _constant(0, 1)),    # num_split
    (_OPS + "losses.losses_impl", "compute_weighted_loss", ("losses.compute_weighted_loss",), _constant(0, -3)),
    (_OPS + "nn_impl", "swish", ("nn.swish",), _constant(0, -2)),
    (_OPS + "rnn", "dynamic_rnn", ("nn.dynamic_rnn",), _constant(0, 1)),      # TensorArraySizeV3
    (_OPS + "array_ops", "matrix_diag", ("matrix_diag", "linalg.diag"), _constant(0, -4)),
)


def install():
    """Wrap random_seed.get_seed and the functions of the table; returns functions that undo it. TF 2.x only."""
    random_seed = importlib.import_module("tensorflow.python.framework.random_seed")
    ops = importlib.import_module("tensorflow.python.framework.ops")
    context = importlib.import_module("tensorflow.python.eager.context")
    tensorflow = sys.modules["tensorflow"]
    v1 = tensorflow.compat.v1
    original = random_seed.get_seed

    @functools.wraps(original)
    def get_seed(op_seed):
        if op_seed is None and not context.executing_eagerly():
            graph = ops.get_default_graph()
            if graph.seed is not None:
                op_seed = graph.version + _missing.get(graph, 0)
        return original(op_seed)

    def counted(function, rule):
        @functools.wraps(function)
        def as_many(*args, **kwargs):
            if context.executing_eagerly():
                return function(*args, **kwargs)
            graph = ops.get_default_graph()
            before, total = rule(graph, *args, **kwargs)
            _missing[graph] = _missing.get(graph, 0) + before
            try:
                return function(*args, **kwargs)
            finally:
                _missing[graph] += total - before
        return as_many

    undo = [_set(random_seed, "get_seed", get_seed)]
    for module, name, public, rule in _RULES:
        home = importlib.import_module(module)
        if not hasattr(home, name):
            continue
        undo.append(_set(home, name, counted(getattr(home, name), rule)))
        for path in public:
            *parts, last = path.lstrip("|").split(".")
            for start in ((tensorflow, tensorflow.compat.v2) if path.startswith("|") else (v1,)):
                owner = functools.reduce(getattr, parts, start)
                undo.append(_set(owner, last, counted(getattr(owner, last), rule)))
    if not has_keras_3(tensorflow):
        layer = v1.layers.BatchNormalization
        undo.append(_set(layer, "call", counted(layer.call, _keras_batch_norm)))
    return undo[::-1]


def _keras_batch_norm(graph, layer, inputs, training=False, **kwargs):
    """Keras 2.15's fused batch normalization builds fewer constants than that of 1.15."""
    if not layer.fused or not isinstance(training, (bool, int)):
        return 0, 0
    return 0, 2 if training else 1


def _set(owner, name, value):
    original = getattr(owner, name)
    setattr(owner, name, value)
    return functools.partial(setattr, owner, name, original)
