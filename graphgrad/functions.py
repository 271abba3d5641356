"""Functions with a gradient of their own: a numpy forward, or a TensorFlow forward, and a backward.

Both take the same arguments and call the same gradient function, ``grad(op, *grads)`` with ``op.inputs`` and
``op.outputs``, so that one can be put in place of the other.
"""
import collections
import contextlib
import os
import threading
import uuid
from typing import Any, Callable, Optional

import numpy as np

from . import _tf
from ._tf import tf
from ._types import Gradient, OneOrMore
from .contract import CAPTURES_ATTRIBUTE, OUTPUTS_ATTRIBUTE
from .errors import ForwardError, OverrideError
from .registry import GradientRecord, gradients, label, place_of, resolve

#: What a numpy gradient is given as ``op``.
NumpyOperation = collections.namedtuple("NumpyOperation", ["name", "type", "inputs", "outputs"])

_PYTHON_TYPES = ("PyFunc", "PyFuncStateless")
#: Exceptions that TensorFlow's PyFunc kernel turns into errors of their own (StopIteration ends a dataset).
_KEEP_TYPE = (ValueError, TypeError, StopIteration, MemoryError, NotImplementedError)


def py_func_with_grad(func: Callable[..., Any], inp: OneOrMore, Tout: OneOrMore, grad: Gradient = None,
                      numpy_grad: Optional[Callable[..., Any]] = None, stateful: bool = True, output_shapes: Any = None,
                      name: Optional[str] = None) -> Any:
    """``tf.py_func`` with a gradient: a numpy forward and a TensorFlow, or numpy, backward.

    Args:
        func: ``func(*arrays)``, called with one numpy array per input; returns one array for a single Tout, else
            a sequence of as many. Dtypes must be as declared: nothing is cast.
        inp: a list of tensors (or a tensor).
        Tout: a dtype, or a list of dtypes. Outputs of integer or boolean dtype carry no gradient, as everywhere.
        grad: ``grad(op, *grads)`` built with TensorFlow operations, or a registered name: ``op.inputs`` and
            ``op.outputs`` are tensors, ``grads`` has one tensor per output; returns one gradient per input.
        numpy_grad: the same in numpy, instead of ``grad``: ``op.inputs``, ``op.outputs`` and ``grads`` are arrays;
            returns one array per input, of that input's dtype and shape, or None for zeros.
        stateful: False lets TensorFlow merge or fold calls with the same inputs, as in ``tf.py_func``.
        output_shapes: the static shape of the output, or a list of them for a list of Tout, or a function of
            the inputs' ``tf.TensorShape`` that returns such. Checked each time the function runs. Without it
            the shapes are unknown.
        name: a name for the operation.

    Returns:
        A tensor for a single Tout, a list of tensors for a list.

    Raises:
        TypeError: func or a gradient is not callable, or both gradients are given.
        RegistrationError: grad names a gradient that nobody registered.
        tf.errors.OpError: when it runs, and the function raised or returned another number, dtype or shape: the
            message names the function and its file and line.

    A graph with such a function runs only in the process that built it, like any ``tf.py_func``; in another
    process, TensorFlow says that the callback (by the name of this function) is not found, and never
    runs another function in its place. In a cluster, build it under ``tf.device`` of the task that builds it.
    """
    if not callable(func):
        raise TypeError("func must be a callable over numpy arrays, but got {!r}.".format(func))
    if grad is not None and numpy_grad is not None:
        raise TypeError("Give grad or numpy_grad, not both.")
    inputs = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    if tf.executing_eagerly():
        return _traced(lambda *tensors: py_func_with_grad(
            func, list(tensors), Tout, grad, numpy_grad, stateful, output_shapes, name), inputs)
    single = not isinstance(Tout, (list, tuple))
    dtypes = [tf.as_dtype(dtype) for dtype in ([Tout] if single else Tout)]
    with _tf.name_scope(name, "PyFuncWithGrad") as scope:
        inputs = [tf.convert_to_tensor(tensor) for tensor in inputs]
        shapes = _output_shapes(output_shapes, inputs, len(dtypes), single)
        forward = _Forward(func, dtypes, shapes, single)
        if numpy_grad is not None:
            grad = _numpy_gradient(numpy_grad)
        tag, gradient = resolve(grad)
        if isinstance(gradient, GradientRecord):
            gradient.of_python = True
        with _given_gradient(_PYTHON_TYPES, tag, gradient):
            outputs = _python_operation(forward, forward.label, inputs, dtypes, stateful, scope or None)
    for output, shape in zip(outputs, shapes):
        output.set_shape(shape)
    return outputs[0] if single else outputs


def tf_func_with_grad(func: Callable[..., Any], inp: OneOrMore, grad: Gradient, name: Optional[str] = None) -> Any:
    """A TensorFlow forward with a gradient of its own: the same call as ``py_func_with_grad``, no Python at run time.

    Args:
        func: ``func(*tensors)``, built with TensorFlow operations; returns a tensor or a sequence of tensors.
        inp: a list of tensors (or a tensor): what ``grad`` gives gradients for. Nothing flows to them through
            the operations of ``func``. Variables and other tensors that func uses without their being in
            ``inp`` keep their ordinary gradient through it.
        grad: ``grad(op, *grads)``, or a registered name; as in ``py_func_with_grad``.
        name: a name for the operation.

    Returns:
        What func returned: a tensor, or a list of tensors.

    Raises:
        TypeError: func or grad is not callable, or func returned something that is no tensor.

    The operation is an IdentityN, so a graph with it is saved and loaded like any other; for a new gradient to
    be built in another process, register ``grad`` there under the same name (``@register_gradient``).
    """
    if not callable(func):
        raise TypeError("func must be a callable over tensors, but got {!r}.".format(func))
    if grad is None:
        raise TypeError("tf_func_with_grad needs grad; to cut the gradient use tf.stop_gradient.")
    inputs = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    if tf.executing_eagerly():
        return _traced(lambda *tensors: tf_func_with_grad(func, list(tensors), grad, name), inputs)
    tag, gradient = resolve(grad)
    if not isinstance(gradient, GradientRecord):
        gradient = gradients.register(_as_function(gradient, tag))
        tag = gradient.name
    with _tf.name_scope(name, "TFFuncWithGrad") as scope:
        inputs = [tf.convert_to_tensor(tensor) for tensor in inputs]
        graph = _tf.v1.get_default_graph()
        before = graph.version
        stopped = [tf.stop_gradient(tensor) for tensor in inputs]
        result = func(*stopped)
        single = not isinstance(result, (list, tuple))
        try:
            results = [tf.convert_to_tensor(tensor) for tensor in ([result] if single else result)]
        except (TypeError, ValueError):
            raise TypeError("{} ({}) must return a tensor or a sequence of tensors, but returned {!r}.".format(
                label(func), place_of(func), result)) from None
        attributes = {OUTPUTS_ATTRIBUTE: len(results)}
        if not _captures(graph, before, stopped, results):
            attributes[CAPTURES_ATTRIBUTE] = 0
        with _given_gradient(("IdentityN",), tag, gradient, attributes):
            outputs = tf.identity_n(results + inputs, name=scope or None)[:len(results)]
    return outputs[0] if single else list(outputs)


# --- Giving one operation its gradient ---------------------------------------------------------------

@contextlib.contextmanager
def _given_gradient(op_types, tag, gradient, attributes=None):
    """Tag and bind the operation of one of these types that is built in the block, before a tape records it.

    ``attributes`` are whole numbers for its NodeDef.
    """
    graph = _tf.v1.get_default_graph()
    if _tf.is_defun(graph):
        raise OverrideError(_tf.DEFUN_TEXT.format("a gradient of your own would be ignored there"))
    checked = _WithShapesChecked(gradient)
    thread = threading.get_ident()

    def see(op):
        # Another thread may build in this graph. TensorFlow's own map would tag what it builds as well.
        if op.type in op_types and threading.get_ident() == thread:
            _tf.tag(op, tag)
            for attribute, value in (attributes or {}).items():
                _tf.set_integer(op, attribute, value)
            _tf.bind(op, checked)
        return op.device

    # One thread at a time: what is entered in a graph in turn must be left in turn.
    with _tf.lock, _tf.hooks(), graph.device(see):
        yield


class _WithShapesChecked:
    """A gradient whose shapes are compared with the inputs' when it runs, where they are not known before."""

    __slots__ = ("gradient",)

    def __init__(self, gradient):
        self.gradient = gradient

    def __call__(self, op, *grads):
        result = self.gradient(op, *grads)
        return [self._checked(gradient, tensor, op) for gradient, tensor in zip(result, op.inputs)]

    def _checked(self, gradient, tensor, op):
        if not isinstance(gradient, tf.Tensor) or tensor.dtype in (tf.resource, tf.variant) or any(
                gradient is output for output in op.outputs):
            return gradient
        if gradient.shape.is_fully_defined() and tensor.shape.is_fully_defined():
            return gradient
        name = getattr(self.gradient, "name", "the gradient")
        same = _tf.v1.assert_equal(
            tf.shape(gradient), tf.shape(tensor), message="Gradient {!r} of operation {!r} (type {}): its shape is not "
            "the shape of input {}.".format(name, op.name, op.type, tensor.name))
        with tf.control_dependencies([same] if same is not None else []):
            return tf.identity(gradient)


def _captures(graph, before, stopped, results):
    """Whether results hang on anything but the stopped inputs and constants: a variable, a tensor from outside.

    ``before`` is the version of the graph when the forward was begun.
    """
    captured = set(tensor.op for tensor in getattr(graph, "inputs", ()))   # of a function: small eager ones are Consts
    seen = set(tensor.op for tensor in stopped)
    front = [getattr(tensor, "op", None) for tensor in results]   # an eager tensor has none
    while front:
        op = front.pop()
        if op in seen:
            continue
        seen.add(op)
        if (op is None or op.graph is not graph or _tf.number_of(op) <= before or op in captured
                or not op.inputs and op.type != "Const"):
            return True
        front += [tensor.op for tensor in op.inputs]
    return False


def _as_function(gradient, tag):
    """TensorFlow's own gradient under another name, as a plain function of a tf_func_with_grad."""
    def tensorflows(op, *grads):
        return gradient(op, *grads)

    tensorflows.__gradient_name__ = "graphgrad.tf_func({})".format(tag)
    return tensorflows


def _traced(build, inputs):
    """Build in a function graph, for eager mode: TensorFlow's tapes then find the gradient. Traced at each call."""
    tensors = [tf.convert_to_tensor(tensor) for tensor in inputs]
    _tf.refuse_forward_mode(tensors, "a function with a gradient of its own")
    return tf.function(build, autograph=False)(*tensors)


# --- Numpy functions as operations ---------------------------------------------------------------------

_process = uuid.uuid4().hex[:12]   # os.urandom: no random state of anybody's is touched
_process_id = os.getpid()
_count = 0


def _python_operation(function, called, inputs, dtypes, stateful, name):
    """Add the operation, under a token that no other process has, and let the graph own the function."""
    global _count, _process, _process_id
    with _tf.lock:
        if os.getpid() != _process_id:   # forked
            _process, _process_id = uuid.uuid4().hex[:12], os.getpid()
        # What TensorFlow says is not found, where it is put on another task, or loaded elsewhere.
        token = "{}@only-in-the-process-that-built-it.{}.{}".format(called, _process, _count)
        _count += 1
    _tf.keep_alive(_tf.v1.get_default_graph(), function)
    return _tf.python_operation(function, token, inputs, dtypes, stateful, name)


class _Checked:
    """A Python function that a PyFunc runs, with what it raises and returns checked and named."""

    kind = "numpy function"

    def __init__(self, function, dtypes, shapes):
        self.function = function
        self.label = label(function)
        self.place = place_of(function)
        self.dtypes = [dtype.as_numpy_dtype for dtype in dtypes]
        self.shapes = shapes

    def call(self, *arguments):
        """Call the function; an exception of its own leaves with its name and place."""
        try:
            return self.function(*arguments)
        except Exception as error:
            text = "{} raised {}: {}".format(self, type(error).__name__, error)
            kept = next((kind for kind in _KEEP_TYPE if isinstance(error, kind)), ForwardError)
            raise kept(text) from error

    def check(self, value, index, shape, what):
        """Return a value as an array of the declared dtype and shape, or raise ForwardError."""
        dtype = self.dtypes[index]
        if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
            value = np.asarray(value, dtype)   # a Python number has no dtype of its own
        array = np.asarray(value)
        if array.dtype != dtype and not (np.dtype(dtype) == object and array.dtype.kind in "SU"):
            raise ForwardError("{} returned {} of dtype {}, but {} was declared: return it with .astype({}).".format(
                self, what, array.dtype, np.dtype(dtype), np.dtype(dtype)))
        if shape is not None and not (len(shape) == array.ndim and all(
                wanted is None or wanted == came for wanted, came in zip(shape, array.shape))):
            raise ForwardError("{} returned {} of shape {}, but {} was declared.".format(
                self, what, array.shape, _written(shape)))
        return array

    def __str__(self):
        return "The {} {!r} ({})".format(self.kind, self.label, self.place)


class _Forward(_Checked):
    """The forward of a py_func_with_grad."""

    kind = "numpy forward"

    def __init__(self, function, dtypes, shapes, single):
        super().__init__(function, dtypes, shapes)
        self.single = single
        self._tuples = [tuple(shape.as_list()) if shape.rank is not None else None for shape in shapes]

    def __call__(self, *arrays):
        result = self.call(*arrays)
        # tf.py_func takes [array] for a single output too, as the recipes that are copied around declare it.
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(results) != len(self.dtypes):
            raise ForwardError("{} returned {} output(s), but Tout declares {}.".format(
                self, len(results), len(self.dtypes)))
        return [self.check(value, index, self._tuples[index], "output {}".format(index))
                for index, value in enumerate(results)]


class _Backward(_Checked):
    """A numpy gradient: called with the arrays of inputs, outputs and gradients in one row."""

    kind = "numpy gradient"

    def __init__(self, function, name, op_type, dtypes, wanted, number_of_inputs, number_of_outputs):
        super().__init__(function, dtypes, None)
        self.name = name
        self.op_type = op_type
        self.wanted = wanted    # which inputs get a gradient
        self.number_of_inputs = number_of_inputs
        self.number_of_outputs = number_of_outputs

    def __call__(self, *arrays):
        inputs = arrays[:self.number_of_inputs]
        outputs = arrays[self.number_of_inputs:self.number_of_inputs + self.number_of_outputs]
        grads = arrays[self.number_of_inputs + self.number_of_outputs:]
        result = self.call(NumpyOperation(self.name, self.op_type, list(inputs), list(outputs)), *grads)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(results) != len(inputs):
            raise ForwardError("{} returned {} gradient(s) for operation {!r}, which has {} input(s).".format(
                self, len(results), self.name, len(inputs)))
        checked = []
        for index, position in enumerate(self.wanted):
            array, value = inputs[position], results[position]
            checked.append(np.zeros_like(array) if value is None else self.check(
                value, index, array.shape, "for input {} of operation {!r} a gradient".format(position, self.name)))
        return checked


def _numpy_gradient(function):
    """A TensorFlow gradient function that runs a numpy one."""
    if not callable(function):
        raise TypeError("numpy_grad must be a callable fn(op, *grads) over arrays, but got {!r}.".format(function))

    def numpy_gradient(op, *grads):
        wanted = [i for i, tensor in enumerate(op.inputs) if tensor.dtype.is_floating or tensor.dtype.is_complex]
        inputs, outputs = list(op.inputs), list(op.outputs)
        grads = [tf.zeros_like(output) if gradient is None else gradient for gradient, output in zip(grads, outputs)]
        dtypes = [inputs[i].dtype.base_dtype for i in wanted]
        backward = _Backward(function, op.name, op.type, dtypes, wanted, len(inputs), len(outputs))
        arrays = _python_operation(backward, backward.label, inputs + outputs + grads, dtypes, True, None)
        result = [None] * len(inputs)
        for position, array in zip(wanted, arrays):
            array.set_shape(inputs[position].shape)   # checked when it runs
            result[position] = array
        return result

    numpy_gradient.__gradient_name__ = "{}.numpy".format(getattr(function, "__gradient_name__", label(function)))
    return numpy_gradient


def _output_shapes(declared, inputs, number, single):
    """The declared shapes as a list of ``tf.TensorShape``, one per output."""
    if callable(declared):
        declared = declared(*[tensor.shape for tensor in inputs])
    if declared is None:
        return [tf.TensorShape(None)] * number
    shapes = [declared] if single else list(declared)
    if len(shapes) != number:
        raise ValueError("output_shapes declares {} shape(s), but Tout {} output(s).".format(len(shapes), number))
    return [tf.TensorShape(shape) for shape in shapes]


def _written(shape):
    sizes = ["?" if size is None else str(size) for size in shape]
    return "({}{})".format(", ".join(sizes), "," if len(sizes) == 1 else "")
