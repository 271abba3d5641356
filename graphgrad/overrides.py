"""override_gradients: the three forms of an override, and what each does to a graph.

1. ``with override:`` tags what is built in the block, in the graph and in every body in it (``blocks.py``);
2. ``with override.on(graph):`` binds operations that exist, and puts them back (``existing.py``);
3. ``override(callable)`` runs a Keras model, tf.function or plain function under the override (``called.py``).
"""
import collections
import threading
import warnings
import weakref
from typing import Any, Callable, ContextManager, Dict, Optional, Tuple, Union

from . import _tf, existing, foreign, op_types
from ._tf import tf
from ._types import Gradients, Graph, OneOrMore, Operation
from .blocks import Block
from .called import Overridden
from .errors import OverrideError, OverrideWarning
from .registry import resolve
from .report import GraphLog, Report, make_report, place_in_graph


def override_gradients(gradients: Gradients, strict: bool = False, require: str = "each") -> "Override":
    """Override the gradients of types of operations.

    Everything is checked here, before anything is installed anywhere.

    Args:
        gradients: dict from op type ("Relu") to what its gradient shall be: a function
            ``fn(op, *grads)`` that returns one gradient per input, the name of a registered gradient, an op type
            whose gradient to use ("Identity"), or None for no gradient.
        strict: raise OverrideError where otherwise an OverrideWarning says that a key matched no operation.
        require: "each" key must match an operation, or "any" one of them (for a family of op types, of which a
            network need not have all).

    Returns:
        An Override: use it as ``with override:``, ``with override.on(graph):`` or ``override(callable)``.

    Raises:
        OverrideError: a key is no op type (with close matches), or the map is empty or no dict.
        RegistrationError: a value names a gradient that nobody registered.
        TypeError: a value is neither a function, a name nor None.
    """
    return Override(gradients, strict=strict, require=require)


class Override:
    """A checked map from op types to gradients. Made by ``override_gradients``; use it as often as you like.

    Entering nests, also within itself: the innermost override of a type wins. Like
    ``tf.Graph.gradient_override_map``, a ``with`` block holds for its graph, so that a second thread which builds in
    the same graph at the same time is inside it too. A thread with a block of its own there is refused the
    operations that the other's would take: let threads with overrides of their own take turns, or build in
    graphs of their own.
    """

    def __init__(self, gradients: Gradients, strict: bool, require: str) -> None:
        if not isinstance(gradients, dict) or not gradients:
            raise OverrideError(
                "override_gradients takes a non-empty dict from op types to gradients, such as "
                "{{'Relu': guided_relu}}, but got {!r}.".format(gradients))
        if require not in ("each", "any"):
            raise OverrideError("require must be 'each' or 'any', but got {!r}.".format(require))
        for key in gradients:
            op_types.check_op_type(key)
        self._set_up({key: Choice(key, *resolve(value)) for key, value in gradients.items()}, strict, require)

    def _set_up(self, choices, strict=False, require="each"):
        self.strict = strict
        self.require = require
        self._choices = choices
        self._logs = weakref.WeakKeyDictionary()
        self._last_log = None
        self._instead = {}
        self._open = threading.local()

    @property
    def gradients(self) -> Dict[str, str]:
        """Dict from op type to the name that its operations are tagged with."""
        return {key: choice.tag for key, choice in self._choices.items()}

    @property
    def report(self) -> Report:
        """What this override did so far: a Report, made anew each time."""
        with _tf.lock:
            logs = list(self._logs.values())
        if self._last_log is not None and self._last_log not in logs:
            logs.append(self._last_log)
        return make_report(repr(self), self.gradients, logs, self._instead)

    def __repr__(self):
        return "Override({})".format(", ".join("{} -> {}".format(*item) for item in self.gradients.items()))

    # 1. Operations built in a block.

    def __enter__(self) -> "Override":
        if tf.executing_eagerly():
            raise OverrideError(
                "A 'with' block overrides the operations of a graph, and in eager mode there is none. Call the model "
                "or function through the override instead: guided = override_gradients({...}); y = guided(model)(x). "
                "Or build inside a tf.Graph().as_default() block or a tf.function.")
        graph = _tf.v1.get_default_graph()
        if graph.finalized:
            raise OverrideError("The default graph is finalized, so nothing can be built in it under an override. "
                                "Enter the block before the graph is finalized, or use override.on(graph).")
        stack, block = self._stack(), Block(self, graph)
        try:
            block.open()
            stack.append(block)
            return self
        except BaseException:   # an interrupt, after which Python calls no __exit__
            block.undo()
            if block in stack:
                stack.remove(block)
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Optional[bool]:
        block = self._stack().pop()
        block.close()
        if kind is None:
            block.tell()
        else:
            foreign.explain(error, block.graph)
        return False

    def _stack(self):
        if not hasattr(self._open, "blocks"):
            self._open.blocks = []
        return self._open.blocks

    # 2. Operations that exist already.

    def on(self, graph: Optional[Graph] = None, where: Union[str, Callable[[Operation], bool], None] = None,
           between: Optional[Tuple[OneOrMore, OneOrMore]] = None) -> ContextManager["Override"]:
        """Override operations that exist already, for as long as the block is open.

        Nothing is written into the graph: when the block closes, every operation is as it was. Operations in
        the bodies of loops, branches and functions are reached too; where TensorFlow would not
        use them, this refuses.

        Args:
            graph: the ``tf.Graph``; by default the current one.
            where: which operations of the types to take: a str, a regular expression that must match from the
                start of the operation's name (``"block1/"`` is a scope), or a predicate ``fn(op) -> bool``. The
                name of an operation in a body begins with that of the operation that runs it (``"while/Relu"``).
            between: ``(xs, ys)``, tensors or lists of tensors: only operations on a path from an x to a y.

        Returns:
            A context manager that gives this Override.

        Raises:
            OverrideError: an operation cannot be overridden so: TF has already built and kept the
                backward function that it is part of, or (TF 1.15, imported graphs) rebuilds its body from the
                serialized form.
        """
        return existing.override_existing(self, graph, where, between)

    # 3. A callable.

    def __call__(self, function: Callable[..., Any]) -> Any:
        """Wrap a callable so that whatever it builds is built under this override.

        Works in eager mode, in a ``tf.function`` and in a graph. Signature, nested outputs and variables are the
        callable's own; attributes (``trainable_variables``) are passed through. Traced once per input
        signature, like any ``tf.function``.

        Args:
            function: a Keras model or layer, a ``tf.function`` or a plain function.

        Returns:
            A callable like it.

        Raises:
            OverrideError: it cannot be called.
        """
        if not callable(function):
            raise OverrideError("An override is called with a model or function, not with {!r}.".format(function))
        return Overridden(self, function)

    # What blocks share.

    def log_for(self, graph):
        """The GraphLog of a graph."""
        with _tf.lock:
            log = self._logs.get(graph)
            if log is None:
                log = self._logs[graph] = GraphLog(graph)
            self._last_log = log
        return log

    def choice_for(self, op_type):
        """The Choice for a type of operation, or None."""
        return self._choices.get(op_type)

    @property
    def choices(self):
        """Dict from op type to Choice."""
        return self._choices

    def tell(self, message):
        """Warn, or raise if strict."""
        if self.strict:
            raise OverrideError(message)
        warnings.warn(message, OverrideWarning, stacklevel=5)   # who left the block

    def tell_unmatched(self, matched, present, place):
        """Warn, or raise if strict, about keys that matched no operation.

        Args:
            matched: the keys that did.
            present: dict from the op types that were there to their numbers.
            place: "in the block" or the like.
        """
        unmatched = [key for key in self._choices if key not in matched]
        if not unmatched or (self.require == "any" and matched):
            return
        parts = []
        for key in unmatched:
            related = op_types.relatives(key, present)
            self._instead[key] = {name: present[name] for name in related or _most_common(present)}
            parts.append("{!r} matched no operation {}".format(key, place) + (
                "; there were {}".format(_counted(self._instead[key])) if present else "; nothing was there"))
            if related:
                parts[-1] += " (TensorFlow {} may write it so)".format(tf.__version__)
        message = "; ".join(parts) + ". The gradient there is the ordinary one."
        if self.strict:
            raise OverrideError(message)
        warnings.warn(message, OverrideWarning, stacklevel=4)   # who left the block, or entered on()'s


class Choice:
    """What one op type is given: the tag for the NodeDef and the gradient to bind.

    Attributes:
        key: the op type.
        tag: the registered name.
        gradient: ``fn(op, *grads)``, which checks what it returns.
    """

    __slots__ = ("key", "tag", "gradient")

    def __init__(self, key, tag, gradient):
        self.key = key
        self.tag = tag
        self.gradient = gradient

    def bind(self, op, log):
        """Bind the gradient to an operation, and log it now and when it is differentiated; returns the binding."""
        log.tag(self.key, place_in_graph(op))
        watched = log.watched.get(self)
        if watched is None:
            watched = log.watched[self] = _Watched(self, log)
        return _tf.bind(op, watched)


class _Watched:
    """The gradient of a Choice, bound to operations of one graph; logs that tf.gradients went through them."""

    __slots__ = ("choice", "log", "__weakref__")

    def __init__(self, choice, log):
        self.choice = choice
        self.log = log

    @property
    def tag(self):
        """The name of the gradient, for whoever meets it on an operation without a tag."""
        return self.choice.tag

    @property
    def gradient(self):
        """What it watches."""
        return self.choice.gradient

    def __call__(self, op, *grads):
        self.log.went_through(self.choice.key, place_in_graph(op))
        return self.choice.gradient(op, *grads)


def _most_common(present, number=5):
    return [name for name, _ in collections.Counter(present).most_common(number)]


def _counted(numbers):
    return ", ".join("{} ({})".format(name, number) for name, number in numbers.items())
