"""check_gradient: whether gradients are what they claim to be, by finite differences.

An op without an override claims its own derivative. One whose rule departs from it on purpose claims to be the
derivative of the rule's *surrogate* (``declare_surrogate``) at the op's inputs, while everything behind it sees
the op's real output. So, to differentiate, each such op is replaced by

    its output at the base point + surrogate(inputs) - surrogate(inputs at the base point)

which is done by feeding: the session computes the op's inputs, the surrogate on them, and is then fed the sum in
place of the op's output. No graph is rewritten. A tf.stop_gradient claims to be a constant, and is held at its
value likewise.
"""
import collections
from typing import Any, Optional, Union

import numpy as np

from . import _tf
from ._tf import tf, v1
from ._types import Feed, Session
from .contract import FunctionOperation, function_outputs
from .errors import CheckError, OverrideError
from .overrides import Override
from .registry import GradientRecord, gradients, place_of

#: The result of a check that passed: the largest difference found, what was allowed there, how many entries of x
#: were looked at (0: only a direction), and the overridden operations on the path.
CheckResult = collections.namedtuple("CheckResult", ["difference", "allowed", "entries", "overridden"])

#: dtype: (step, relative tolerance). Central differences err by step ** 2 and by rounding / step.
_PRECISION = {tf.float64: (1e-5, 1e-6), tf.float32: (5e-3, 2e-2)}


def check_gradient(y: Any, x: Any, override: Optional[Override] = None, feed_dict: Optional[Feed] = None,
                   session: Optional[Session] = None, order: int = 1, entries: Union[bool, int] = True,
                   rtol: Optional[float] = None, atol: float = 0.0, seed: int = 0) -> CheckResult:
    """Compare gradients with finite differences: along one random direction, and entry by entry.

    In one line, in float64 and a graph of its own::

        check_gradient(lambda x: tf.nn.relu(x) ** 2, np.random.randn(3, 4))
        check_gradient(tf.sign, [values], override=straight_through("Sign"))   # against the declared surrogate
        check_gradient(lambda a, b: py_func_with_grad(...), [a, b])

    or on tensors of a graph as it stands, overrides included, with its dtype::

        check_gradient(logits, images, feed_dict={images: batch}, session=session)

    Args:
        y: a function of tensors; or a tensor, or a list of tensors.
        x: for a function: an array, or a list of arrays, one per argument; floating ones become float64, the others
            are passed as they are and not differentiated. For tensors: a tensor or a list of tensors, float64
            (or float32, where differences are good to two digits).
        override: for a function: an Override under which it is built. The forward must be the same, bit for bit,
            without it.
        feed_dict: for tensors: what else to feed.
        session: for tensors: the Session to run in; by default the current one, or a new one.
        order: 1, or 2 for the gradient of the gradient as well.
        entries: False to look along the direction only, for a large x.
        rtol: allowed difference, relative to the largest entry; by default 1e-6 in float64, 2e-2 in float32.
        atol: allowed besides.
        seed: of the direction and the weights of y.

    Returns:
        A CheckResult.

    Raises:
        CheckError: (an AssertionError) they differ, the forward is changed by the override, or a value is not finite;
            the message says where, by how much, what is allowed, and which overridden op is off by itself.
        OverrideError: an op with a declared surrogate, or a tf.stop_gradient, is in the body of a loop, branch or
            function, where it cannot be fed. (Overridden ops that claim the true derivative may be there.)
        ValueError, TypeError: arguments that cannot be checked.
    """
    if order not in (1, 2):
        raise ValueError("check_gradient: order must be 1 or 2, but got {!r}.".format(order))
    settings = _Settings(entries, rtol, atol, np.random.RandomState(seed))
    if callable(y) and not isinstance(y, tf.Tensor):
        if feed_dict is not None or session is not None:
            raise TypeError("check_gradient: feed_dict and session are for tensors; a function gets its own graph.")
        return _check_function(y, x, override, order, settings)
    if override is not None:
        raise TypeError("check_gradient: override is for a function. For tensors, call it inside override.on(graph).")
    ys, xs = _as_list(y), _as_list(x)
    graph = ys[0].graph
    session = session or v1.get_default_session()
    with graph.as_default():
        stages = _build(ys, xs, order)
        if session is not None:
            return _run(stages, dict(feed_dict or {}), session, settings)
        with v1.Session(graph=graph) as own:
            return _run(stages, dict(feed_dict or {}), own, settings)


_Settings = collections.namedtuple("_Settings", ["entries", "rtol", "atol", "random"])


def _check_function(function, arrays, override, order, settings):
    arrays = [np.asarray(array) for array in _as_list(arrays)]
    arrays = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    if not any(array.dtype == np.float64 for array in arrays):
        raise TypeError("check_gradient: none of the inputs is floating, so there is nothing to differentiate.")
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        placeholders = [v1.placeholder(array.dtype, array.shape) for array in arrays]
        feed = dict(zip(placeholders, arrays))
        if override is None:
            ys = _as_list(function(*placeholders))
        else:
            with override:
                ys = _as_list(function(*placeholders))
        for y in ys:
            if not isinstance(y, tf.Tensor) or not y.dtype.is_floating:
                raise TypeError("check_gradient: the function must return floating tensors, but returned {!r}.".format(
                    y))
        xs = [placeholder for placeholder in placeholders if placeholder.dtype == tf.float64]
        stages = _build(ys, xs, order)
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            if override is not None:
                _check_forward(function, arrays, session.run(ys, feed), override)
            return _run(stages, feed, session, settings)


def _check_forward(function, arrays, values, override):
    """Raise CheckError unless the function gives the same values without the override."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        placeholders = [v1.placeholder(array.dtype, array.shape) for array in arrays]
        ys = _as_list(function(*placeholders))
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            plain = session.run(ys, dict(zip(placeholders, arrays)))
    for index, (value, wanted) in enumerate(zip(values, plain)):
        if not np.array_equal(np.isnan(value), np.isnan(wanted)) or np.any(value[~np.isnan(value)] != wanted[
                ~np.isnan(wanted)]):
            raise CheckError("The forward is not the same under {!r}: output {} differs by up to {:.3g}.".format(
                override, index, np.nanmax(np.abs(value - wanted))))


def _build(ys, xs, order):
    """What is to be compared: a list of _Stage. Nothing is run: TensorFlow runs no gradient of a v2 loop afterwards."""
    for tensor in ys + xs:
        if tensor.dtype not in _PRECISION:
            raise TypeError("check_gradient takes float64 or float32 tensors, but {} has {}.".format(
                tensor.name, tensor.dtype.name))
    stages = [_Stage(ys, xs, "Gradient")]
    there = [tf.convert_to_tensor(gradient) for gradient in stages[0].gradients if gradient is not None]
    if order == 2 and there:   # IndexedSlices became dense
        stages.append(_Stage(there, xs, "Gradient of the gradient"))
    return stages


def _run(stages, feed, session, settings):
    feed.update(zip(stages[0].xs, session.run(stages[0].xs, feed)))
    for stage in stages:
        try:
            stage.begin(session, feed, settings.random)
            result = _compare(stage, settings)
        except tf.errors.InvalidArgumentError as error:
            if "Connecting to invalid output" not in str(error):
                raise
            raise ValueError(
                "check_gradient: the session has run this graph before, and TensorFlow cannot run the gradient of a "
                "loop or branch (control flow v2) in it then. Give a new session, or none.") from None
    return result


class _Stage:
    """The weighted sum of ys as a numpy function of xs, with declared surrogates in place of what they stand for.

    Attributes:
        ys, xs: tensors.
        gradients: what tf.gradients gives for that sum.
        what: the gradients in words.
        overridden: the operations on the path that have a gradient of their own, as _Step.
    """

    def __init__(self, ys, xs, what):
        self.ys, self.xs, self.what = ys, xs, what
        self._given = [v1.placeholder(y.dtype, y.shape) for y in ys]
        self.gradients = tf.gradients(ys, xs, grad_ys=self._given)
        path = _path(xs, ys)
        steps = [_Step(op) for op in path]
        self.overridden = [step for step in steps if step.gradient is not None]
        inner = set(op for step in self.overridden for op in step.inner_stops())
        self._steps = [step for step in steps if step.surrogate is not None and step.node not in inner]
        _refuse_bodies(path, self._steps)
        for step in self._steps:
            step.build()

    def begin(self, session, feed, random):
        """Take the values in ``feed``, those of xs among them, as the base point; add the weights of ys to it."""
        self.session = session
        self._weights = [random.standard_normal(value.shape) for value in session.run(self.ys, feed)]
        feed.update(zip(self._given, self._weights))
        self.feed = dict(feed)
        self.base = [np.array(feed[x]) for x in self.xs]
        for step in self._steps:
            step.begin(session, self.feed)
            self.feed.update(zip(step.outputs, step.base_outputs))

    def __call__(self, values):
        feed = dict(self.feed)
        for step in self._steps:
            for output in step.outputs:
                del feed[output]
        feed.update(zip(self.xs, values))
        for step in self._steps:
            feed.update(zip(step.outputs, step.replaced(self.session, feed)))
        return sum(np.sum(weight * np.asarray(value, np.float64)) for weight, value in zip(
            self._weights, self.session.run(self.ys, feed)))

    def derivative(self, direction, step):
        """The central difference along a direction (one array per x)."""
        ahead = self([value + step * part for value, part in zip(self.base, direction)])
        behind = self([value - step * part for value, part in zip(self.base, direction)])
        return (ahead - behind) / (2 * step)

    def values(self):
        """The gradients as float64 arrays, None as zeros; at the base point, with what is fed in the differences."""
        there = [tf.convert_to_tensor(gradient) for gradient in self.gradients if gradient is not None]
        values = iter(self.session.run(there, self.feed))
        return [np.zeros(base.shape) if gradient is None else np.asarray(next(values), np.float64)
                for gradient, base in zip(self.gradients, self.base)]

    def differences(self, index, step):
        """The central difference along each entry of one x."""
        result = np.zeros(self.base[index].shape)
        for place in np.ndindex(*result.shape):
            direction = [np.zeros(base.shape) for base in self.base]
            direction[index][place] = 1.0
            result[place] = self.derivative(direction, step)
        return result


class _Step:
    """An operation on the path with a gradient of its own.

    Attributes:
        op: as its gradient function sees it.
        gradient: the function; None for an operation without an override.
        surrogate: what it declares to be the derivative of, or None.
        outputs: the tensors to feed in its place.
    """

    def __init__(self, op):
        number = function_outputs(op)
        self.node = op
        self.op = FunctionOperation(op, number) if number is not None else op
        self.gradient = _gradient_of(op)
        self.surrogate = _constant if op.type == "StopGradient" else getattr(self.gradient, "surrogate", None)
        self.outputs = list(self.op.outputs)

    def inner_stops(self):
        """The stop_gradients behind which a tf_func_with_grad runs its forward: that one is differentiated."""
        if self.op is self.node:
            return []
        return [taker for tensor in self.op.inputs for taker in tensor.consumers() if taker.type == "StopGradient"]

    def build(self):
        """Build the surrogate beside the operation."""
        self.placeholders = [v1.placeholder(tensor.dtype.base_dtype, tensor.shape) for tensor in self.op.inputs]
        made = self.surrogate(self.op, *self.placeholders)
        self.made = list(made) if isinstance(made, (list, tuple)) else [made]

    def begin(self, session, feed):
        """Run both at the base point."""
        self.base_feed = dict(feed)   # so that a surrogate may hold something of the op's own tensors constant
        self.base_outputs = session.run(self.outputs, feed)
        self.base_made = self._run(session, session.run(list(self.op.inputs), feed))
        for output, value in zip(self.base_outputs, self.base_made):
            if np.shape(output) != np.shape(value):
                raise CheckError("The surrogate of {} has shape {}, but the operation's output {}.".format(
                    self, np.shape(value), np.shape(output)))

    def replaced(self, session, feed):
        """The outputs to feed: those at the base point, moved as the surrogate moves."""
        made = self._run(session, session.run(list(self.op.inputs), feed))
        return [output + (now - base) for output, now, base in zip(self.base_outputs, made, self.base_made)]

    def _run(self, session, values):
        feed = dict(self.base_feed)
        feed.update(zip(self.placeholders, values))
        return session.run(self.made, feed)

    def __str__(self):
        if self.gradient is None:
            return "{!r} (type {})".format(self.node.name, self.node.type)
        return "{!r} (type {}, gradient {} at {})".format(
            self.node.name, self.node.type, getattr(self.gradient, "__gradient_name__", None) or _name(self.gradient),
            place_of(self.gradient))


def _compare(stage, settings):
    """Compare the gradients of a stage with its differences; a CheckResult, or CheckError."""
    got = stage.values()
    step, rtol = _PRECISION[stage.xs[0].dtype]
    rtol = rtol if settings.rtol is None else settings.rtol
    step *= max([1.0] + [np.abs(value).max() for value in stage.base if value.size])
    direction = [settings.random.uniform(-1, 1, value.shape) for value in stage.base]
    wanted = stage.derivative(direction, step)
    came = sum(np.sum(part * gradient) for part, gradient in zip(direction, got))
    size = sum(np.sum(np.abs(part * gradient)) for part, gradient in zip(direction, got))
    allowed = settings.atol + rtol * max(abs(wanted), size, 1e-3)
    found = [_Difference("along a random direction", came, wanted, allowed)]
    looked_at = 0
    if settings.entries:
        differences = [stage.differences(index, step) for index in range(len(stage.base))]
        largest = max([np.abs(array).max() for array in differences + got if array.size] or [0.0])
        allowed = settings.atol + rtol * max(largest, 1e-3)
        for index, (x, mine, wanted) in enumerate(zip(stage.xs, got, differences)):
            looked_at += mine.size
            if not mine.size:
                continue
            off = np.where(np.isnan(mine - wanted), np.inf, np.abs(mine - wanted))
            place = np.unravel_index(np.argmax(off), off.shape)
            found.append(_Difference("at entry {} of input {} ({})".format(
                list(map(int, place)), index, x.name), mine[place], wanted[place], allowed,
                "" if stage.gradients[index] is not None else " (None, taken as 0)"))
    # An entry says more than a direction.
    worst = max(found[1:] or found, key=lambda difference: difference.excess)
    worst = worst if worst.excess > 1 else max(found, key=lambda difference: difference.excess)
    if worst.excess > 1:
        raise CheckError("{} {}: it is {:.9g}{}, finite differences of {} give {:.9g}: they differ by {:.3g}, "
                         "allowed is {:.3g}.{}".format(
                             stage.what, worst.where, worst.came, worst.note, ", ".join(y.name for y in stage.ys),
                             worst.wanted, abs(worst.came - worst.wanted), worst.allowed,
                             _culprits(stage, settings)))
    return CheckResult(abs(worst.came - worst.wanted), worst.allowed, looked_at,
                       [step.node.name for step in stage.overridden])


class _Difference:
    def __init__(self, where, came, wanted, allowed, note=""):
        self.where, self.came, self.wanted, self.allowed, self.note = where, came, wanted, allowed, note
        excess = abs(came - wanted) / allowed
        self.excess = excess if np.isfinite(excess) else np.inf


def _culprits(stage, settings):
    """Which overridden operation is off by itself: a sentence for a failure."""
    if not stage.overridden:
        return ""
    off, inside = [], []
    for step in stage.overridden:
        inputs = [tensor for tensor in step.op.inputs if tensor.dtype in _PRECISION]
        outputs = [tensor for tensor in step.outputs if tensor.dtype in _PRECISION]
        if list(map(id, inputs + outputs)) == list(map(id, stage.xs + stage.ys)):
            off.append(step)   # it is all there is
            continue
        if not all(tensor.graph.is_fetchable(tensor) for tensor in inputs + outputs):
            inside.append(step)
            continue
        try:
            feed = dict(stage.feed)
            for tensor in step.outputs:
                feed.pop(tensor, None)
            _run(_build(outputs, inputs, 1), feed, stage.session, settings._replace(entries=False))
        except CheckError:
            off.append(step)
    text = ""
    if off:
        text = " By itself, off is {}.".format("; ".join(map(str, off)))
        if any(step.surrogate is None for step in off):
            text += (" Without a declared surrogate it was held to be the true derivative: if it departs from that on "
                     "purpose, say of what it is the derivative, with declare_surrogate.")
    elif not inside:
        text = " Each overridden operation on the path is right by itself: {}.".format(
            "; ".join(map(str, stage.overridden)))
    if inside:
        text += " In a loop or branch, and so not tried by itself: {}.".format("; ".join(map(str, inside)))
    return text


def _constant(op, tensor):
    return tf.zeros_like(tensor)


def _gradient_of(op):
    """The function that an override or a function-with-gradient gave an operation; None if it has its own."""
    gradient = _tf.bound_gradient(op)
    if gradient is None:
        tag = _tf.tag_of(op)
        gradient = gradients.get(tag) if tag else None   # a loaded graph
    while gradient is not None and not isinstance(gradient, GradientRecord) and hasattr(gradient, "gradient"):
        gradient = gradient.gradient
    if isinstance(gradient, GradientRecord):
        return gradient.function
    if getattr(gradient, "args", ())[:1] == ("Identity",):   # {"Sign": "Identity"}: TensorFlow's own, of another type
        from .rules import straight_through
        return straight_through
    return gradient


def _path(xs, ys):
    """The operations on a path from an x to a y, in an order in which they can run."""
    behind = _tf.downstream([taker for x in xs for taker in x.consumers()])
    return sorted(behind & _tf.upstream([y.op for y in ys]), key=_tf.number_of)


def _refuse_bodies(path, steps):
    """Raise OverrideError if something with a surrogate is in a body: what is inside cannot be fed."""
    inside = [op for op in path if op.type in ("Enter", "RefEnter", "Switch", "RefSwitch")]
    left = [op for op in path if op.type in ("Exit", "RefExit", "Merge", "RefMerge")]
    if inside and left:
        between = set(_path([output for op in inside for output in op.outputs], [op.outputs[0] for op in left]))
        for step in steps:
            if step.node in between:
                _refuse(step)
    for op in path:
        for body in _tf.bodies_of(op) if _tf.has_bodies(op.type) else ():
            if body.graph is None:
                _refuse_serialized(op, body)
                continue
            found = [_Step(inner) for inner, _ in _tf.operations_with_bodies(body.graph)]
            stops = set(stop for step in found if step.gradient is not None for stop in step.inner_stops())
            for step in found:
                if step.surrogate is not None and step.node not in stops:
                    _refuse(step)


def _refuse_serialized(op, body):
    """The same for a body of which TensorFlow holds names, types and tags alone."""
    operations = _tf.tagged(op, body)
    has_functions = any(kind == "IdentityN" and tag in gradients for _, kind, tag in operations)
    for name, kind, tag in operations:
        stops = kind == "StopGradient" and not has_functions   # a tf_func_with_grad brings its own
        if stops or hasattr(getattr(gradients.get(tag), "function", None), "surrogate"):
            _refuse("{!r} (type {}{})".format(name, kind, ", gradient {}".format(tag) if tag else ""))


def _refuse(step):
    raise OverrideError(
        "check_gradient cannot feed {}: it is in the body of a loop, branch or function, and it stands for the "
        "derivative of a declared surrogate. Check the rule on an operation outside.".format(step))


def _name(function):
    return getattr(function, "__name__", repr(function))


def _as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]
