"""Gradient functions under lasting, readable names, on top of TensorFlow's own registry.

TensorFlow's registry takes a name once, for ever, and holds what it was given: a notebook cell cannot
be run again, and a function registered per call keeps its graph alive for the life of the process.
Here the name belongs to the *source* of a function (its module and qualified name, or the name given to
``register_gradient``), so that it is the same in the next process; the same function again is quiet; a
redefinition takes over for what is built from then on; another function under a taken name is an error.
What was built before keeps the function it was built with, which its operations hold, not the registry.
No random state is used or touched.
"""
import collections
import difflib
import functools
import inspect
import weakref
from typing import Any, Callable, List, Optional, overload

from . import _tf
from ._types import Function, GradientFunction, Operation, Tensor
from .contract import FunctionOperation, call_gradient, function_captures, function_outputs
from .errors import RegistrationError
from .sources import (
    is_made_by_a_call,
    is_redefinition,
    label,
    place_of,
    plain_function,
    same_function,
    source_name,
)


class GradientRecord:
    """One gradient function under one name, with the place it was defined at.

    Attributes:
        name: the name that operations are tagged with.
        function: ``fn(op, *grads)``, returning one gradient per input.
        place: ``"file:line"`` of its definition, for messages.
        lasting: whether the registry itself keeps it; else it lives as long as what was built with it.
        of_python: whether a py_func_with_grad was built with it.
        told: as of ``contract.call_gradient``; legacy sets it for what a TF 1 script registers.
    """

    __slots__ = ("name", "function", "place", "lasting", "takes_over", "_observers", "of_python", "told", "__weakref__")

    def __init__(self, name, function, lasting, takes_over=False):
        self.name = name
        self.function = function
        self.place = place_of(function)
        self.lasting = lasting
        self.takes_over = takes_over   # whether it redefined an earlier function of that name
        self.of_python = False
        self.told = None
        self._observers = weakref.WeakSet()

    def __call__(self, op, *grads):
        """Call the function and check what it returned against the operation's inputs."""
        outputs = function_outputs(op)
        if outputs is None:
            return call_gradient(self.function, self.name, self.place, op, grads, self.told)
        # A tf_func_with_grad, possibly loaded from a file: the function sees its own inputs and outputs.
        view = FunctionOperation(op, outputs)
        gradients = call_gradient(self.function, self.name, self.place, view, grads[:outputs], self.told)
        return (list(grads[:outputs]) if function_captures(op) else [None] * outputs) + gradients

    def observe(self, log):
        """Have a log told of operations that have no binding (1.15's bodies)."""
        with _tf.lock:
            self._observers.add(log)

    def observers(self):
        """The logs that are to be told, those that are still there."""
        with _tf.lock:
            return list(self._observers)

    def __repr__(self):
        return "GradientRecord({!r}, {})".format(self.name, self.place)


class GradientRegistry:
    """Names of gradient functions, readable and the same in every process that imports the same modules.

    Supports ``name in registry``, ``iter(registry)``, ``len(registry)`` and ``registry[name]``. Safe to use
    from several threads. A function defined at the top level of a module stays registered; a closure, a
    lambda or a bound method that was handed over without a name is dropped with the last graph built
    with it.
    """

    def __init__(self):
        self._lock = _tf.lock
        self._lasting = {}
        self._passing = weakref.WeakValueDictionary()
        self._names = weakref.WeakKeyDictionary()   # function -> the name it was given
        self._entered = set()              # names that stand in TensorFlow's registry for this one
        self._gone = collections.deque()   # names of functions that were dropped

    def register(self, function, name=None, replace=False):
        """Enter a function and return its record.

        Args:
            function: a callable ``fn(op, *grads)``.
            name: the name to take; by default one made from the function's module and qualified name, which a
                closure has until the last graph built with it is dropped.
            replace: True to take the name from whatever function has it, for what is built from then on.

        Raises:
            RegistrationError: the name is taken by another function or by TensorFlow, or is no name.
            TypeError: the function is not callable.
        """
        if not callable(function):
            raise TypeError("A gradient function must be callable as fn(op, *grads), but got {!r}.".format(function))
        _check_name(name)
        with self._lock:
            self._take_out_gone()
            if name is None:
                held = self._named_before(function)
                return held if held is not None else self._register_unnamed(function)
            held = self.get(name)
            if held is not None:
                if same_function(held.function, function):
                    if held.lasting:
                        return held
                elif not replace and not is_redefinition(held.function, function):
                    raise RegistrationError(
                        "The gradient name {!r} is taken by {} ({}), so {} ({}) cannot have it. Give one of them "
                        "another name.{}".format(
                            name, label(held.function), held.place, label(function), place_of(function),
                            _closure_hint(held.function, function)))
            return self._enter(GradientRecord(name, function, lasting=True, takes_over=held is not None))

    def _named_before(self, function):
        if not inspect.isfunction(function) or function not in self._names:
            return None
        held = self.get(self._names[function])
        return held if held is not None and held.function is function else None

    def _register_unnamed(self, function):
        base = source_name(function)
        inner = is_made_by_a_call(function)
        number, name = 1, base
        while True:
            held = self.get(name)
            if held is None and not _tf_has(name):
                break
            if held is not None and same_function(held.function, function):
                return held
            if held is not None and not inner and is_redefinition(held.function, function):
                break
            number += 1
            name = "{}#{}".format(base, number)
        return self._enter(GradientRecord(name, function, lasting=not inner, takes_over=held is not None))

    def _enter(self, record):
        name = record.name
        if _tf_has(name):
            raise RegistrationError(
                "TensorFlow has a gradient named {0!r} already, so {1} ({2}) cannot take that name. To replace "
                "the gradient of operations of type {0!r}, register the function under a name of its own and "
                "override: override_gradients({{{0!r}: {1}}}).".format(name, label(record.function), record.place))
        if inspect.isfunction(record.function):
            self._names[record.function] = name
        if record.lasting:
            self._lasting[name] = record
            self._passing.pop(name, None)
        else:
            self._passing[name] = record
            weakref.finalize(record, self._forget, name).atexit = False
        # Last: until the record is there, the collector may drop an earlier one of this name, and the name with it.
        if name not in self._entered:
            # Not for autograph: saving a model calls it inside a tf.function.
            dispatch = _tf.tf.autograph.experimental.do_not_convert(functools.partial(self._dispatch, name))
            dispatch.graphgrad_dispatch = True
            _tf.unregister(name)
            _tf.register(name, dispatch)
            self._entered.add(name)
        return record

    def _dispatch(self, name, op, *grads):
        """What TensorFlow's registry calls for an operation that has a tag and no binding."""
        record = self.get(name)
        if op is None and record is not None and record.of_python:
            raise RegistrationError(
                "tf.saved_model.save asks for gradient {!r}, with which a py_func_with_grad was built: a saved model "
                "keeps no Python function, so nobody could run it. Use tf_func_with_grad.".format(name))
        if op is None:
            raise RegistrationError(
                "tf.saved_model.save asks for gradient {0!r} without an operation, to store it once for all operations "
                "of that name, which would be wrong for most. Save with options=tf.saved_model.SaveOptions("
                "experimental_custom_gradients=False): the name is kept, and a process that registers {0!r} finds "
                "it.".format(name))
        if record is None:
            raise RegistrationError(
                "Operation {!r} (type {}) is tagged with gradient {!r}, whose function is gone: it was a closure of "
                "a graph that was dropped. Register it with register_gradient({!r}).".format(
                    op.name, op.type, name, name))
        if record.takes_over and not _tf.BODIES_KEEP_OPERATIONS and _tf.is_function_body(op.graph):
            raise RegistrationError(
                "The gradient {!r} ({}) was redefined in this process, and TensorFlow 1.15 cannot tell with which "
                "of its definitions operation {!r} in a loop or branch body was built. Give the new definition a "
                "name of its own.".format(name, record.place, op.name))
        for observer in record.observers():
            observer.went_through_copy(op)
        return record(op, *grads)

    def drop(self, name):
        """Forget a name; operations that were built with its function keep it."""
        with self._lock:
            self._lasting.pop(name, None)
            self._passing.pop(name, None)
            self._take_out(name)

    def _forget(self, name):
        """What the garbage collector calls, in any thread and at any place: it must not wait for the lock."""
        self._gone.append(name)
        if self._lock.acquire(blocking=False):
            try:
                self._take_out_gone()
            finally:
                self._lock.release()

    def _take_out_gone(self):
        while self._gone:
            name = self._gone.popleft()
            if self.get(name) is None:
                self._take_out(name)

    def _take_out(self, name):
        if name in self._entered:
            self._entered.discard(name)
            _tf.unregister(name)

    def get(self, name):
        """The record of a name, or None."""
        return self._lasting.get(name) or self._passing.get(name)

    def __getitem__(self, name):
        record = self.get(name)
        if record is None:
            raise RegistrationError(unknown_gradient(name))
        return record

    def __contains__(self, name):
        return self.get(name) is not None

    def __iter__(self):
        with self._lock:
            return iter(sorted(set(self._lasting) | set(self._passing)))

    def __len__(self):
        with self._lock:
            return len(set(self._lasting) | set(self._passing))

    def __repr__(self):
        return "GradientRegistry({})".format(", ".join(self))


#: The registry of this process, as TensorFlow's own is one for the process.
gradients = GradientRegistry()


@overload
def register_gradient(name: Optional[str] = None) -> Callable[[Function], Function]: ...


@overload
def register_gradient(name: Function) -> Function: ...


def register_gradient(name: Any = None) -> Any:
    """Register a gradient function, as ``tf.RegisterGradient`` does, under a name that lasts.

    Use as ``@register_gradient("GuidedRelu")``, ``@register_gradient()`` or plain ``@register_gradient``: without
    a name it is called by its module and qualified name, ``"saliency_net.guided_relu"``. The name is what
    operations are tagged with, so a saved graph finds the function again in any process that imports the module.

    Registering the same function again, or its redefinition (a notebook cell run again, a module
    reloaded), is quiet; the new definition holds for operations built from then on.

    Args:
        name: a str, or the function itself.

    Returns:
        The function, unchanged (or a decorator that returns it unchanged).

    Raises:
        RegistrationError: another function, or TensorFlow, has the name; the message has both places.
        TypeError: what is registered cannot be called.
    """
    if name is not None and not isinstance(name, str):
        gradients.register(name)
        return name

    def decorate(function):
        gradients.register(function, name)
        return function

    return decorate


def gradient_rule(name: str, **parameters: Any) -> Callable[[GradientFunction], GradientFunction]:
    """Decorate a function of the rule library: the registry's seam for ``graphgrad.rules``.

    Without parameters the rule is registered as ``"graphgrad.<name>"`` for good. With parameters, inside a
    factory, the rule made for them is called ``"graphgrad.<name>(<parameter>=<value>, ...)"`` when it is used.
    """
    full = "graphgrad." + name
    if parameters:
        full += "({})".format(", ".join("{}={!r}".format(key, value) for key, value in sorted(parameters.items())))

    def decorate(function):
        if parameters:
            function.__gradient_name__ = full
        else:
            gradients.register(function, full)
        return function

    return decorate


def declare_surrogate(forward: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate a gradient function that departs from the true derivative on purpose with what it is the derivative of.

    ``check_gradient`` then compares it with finite differences of that function instead of the op's own.

    Args:
        forward: ``forward(op, *inputs)``, built with TensorFlow operations, with as many inputs and outputs as the
            operation. The surrogate of a straight-through Sign is ``lambda op, x: x``. What it takes from
            ``op.inputs`` and ``op.outputs`` instead is held constant.

    Returns:
        A decorator that returns the gradient function unchanged, with ``forward`` as its attribute ``surrogate``.

    Raises:
        TypeError: forward is not callable.
    """
    if not callable(forward):
        raise TypeError("A surrogate must be callable as forward(op, *inputs), but got {!r}.".format(forward))

    def decorate(function):
        function.surrogate = forward
        return function

    return decorate


def original_gradient(op: Operation, *grads: Tensor) -> List[Any]:
    """The gradient that TensorFlow itself computes for an operation, whatever overrides say.

    Compose with it inside a gradient function: guided backprop of any activation is
    ``original_gradient(op, tf.nn.relu(grad))``.

    Args:
        op: a ``tf.Operation``.
        *grads: one gradient tensor per output, with that output's shape and dtype.

    Returns:
        A list with one gradient per input: a tensor, ``tf.IndexedSlices``, or None.

    Raises:
        RegistrationError: TensorFlow has no gradient for this type of operation.
    """
    try:
        gradient = _tf.own_gradient(op)
    except KeyError:
        raise RegistrationError(
            "TensorFlow has no gradient for operation {!r} of type {!r}, so there is no original gradient to "
            "compose with.".format(op.name, op.type)) from None
    if gradient is None:
        return [None] * len(op.inputs)
    result = gradient(op, *grads)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def resolve(value):
    """The record, or TensorFlow's own gradient, that a value of an override map stands for.

    Returns:
        (tag, gradient): the name to tag operations with and the function to bind to them. The function is
        checked when it is called; None stands for no gradient.

    Raises:
        RegistrationError: a name that nobody registered.
        TypeError: neither a function, a name nor None.
    """
    if value is None:
        value = _no_gradient
    if isinstance(value, str):
        record = gradients.get(value)
        if record is not None:
            return value, record
        try:
            function = _tf.registered_gradient(value)
        except KeyError:
            raise RegistrationError(unknown_gradient(value)) from None
        return value, functools.partial(_call_tensorflows, value, function)
    if callable(value):
        record = gradients.register(value)
        return record.name, record
    raise TypeError(
        "A gradient must be a function fn(op, *grads), a registered name, an op type or None, but got {!r}.".format(
            value))


def _call_tensorflows(name, function, op, *grads):
    if function is None:
        return [None] * len(op.inputs)
    return call_gradient(function, name, place_of(function), op, grads)


def unknown_gradient(name):
    """The sentence for a gradient name that nobody registered, with close matches."""
    known = sorted(set(gradients) | set(_tf.registered_names()))
    close = difflib.get_close_matches(name, known, n=3) or difflib.get_close_matches(
        name.lower(), [k.lower() for k in known], n=3)
    close = [k for k in known if k in close or k.lower() in close][:3]
    text = "No gradient named {!r} is registered".format(name)
    if _tf.is_op_type(name):
        text += ", and TensorFlow has none for operations of type {!r}".format(name)
    text += "."
    if close:
        text += " Did you mean {}?".format(" or ".join(repr(c) for c in close))
    return text + " Register it first: @graphgrad.register_gradient({!r}).".format(name)


def _closure_hint(old, new):
    if getattr(plain_function(old), "__code__", None) == getattr(plain_function(new), "__code__", 0):
        return (" (They are one function with different closed-over values: leave the name out, or put the values "
                "in it.)")
    return ""


def _check_name(name):
    if name is not None and (not isinstance(name, str) or not name or name != name.strip()):
        raise RegistrationError(
            "A gradient name must be a non-empty string without blanks around it, but got {!r}.".format(name))


def _tf_has(name):
    """Whether TensorFlow has a name, but for what is left of a registration, or an import, that was interrupted."""
    try:
        return not hasattr(_tf.registered_gradient(name), "graphgrad_dispatch")
    except KeyError:
        return False


@gradient_rule("no_gradient")
def _no_gradient(op, *grads):
    """Give no input a gradient, as tf.NotDifferentiable does for a type of operation."""
    return [None] * len(op.inputs)
