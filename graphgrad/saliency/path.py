"""The operations between x and y: what a map goes through, and where it is cut."""
import collections

from .. import _tf
from .._tf import tf
from ..errors import SaliencyError
from ..nonlinear import NONLINEAR, PRODUCTS, QUOTIENTS
from ..report import place_in_graph

_SHOWN = 3


class Path:
    """The operations of a graph on a way from x to y; y's is one of them, x's is not.

    Raises:
        SaliencyError: y does not depend on x at all; the message has the inputs that it does depend on.
    """

    def __init__(self, y, x):
        self.y = y
        self.x = x
        needed = _tf.upstream([y.op])
        reached = self.operations = needed & _tf.downstream(x.consumers())
        if y is not x and not reached:
            inputs = sorted(op.outputs[0].name for op in needed if op.type == "Placeholder" and op.outputs[0] is not x)
            raise SaliencyError("{!r} does not depend on {!r}{}.".format(y.name, x.name, (
                "; it depends on " + " and ".join(map(repr, inputs))) if inputs else ""))

    def places(self):
        """Dict from op type to the places of its operations on the path, those in loops, branches and functions too.

        Without those that compute shapes and the like, in integers.
        """
        found = collections.OrderedDict()
        for op in self.in_order():
            if all(output.dtype.is_integer or output.dtype.is_bool for output in op.outputs):
                continue
            found.setdefault(op.type, []).append(place_in_graph(op))
            _add_bodies(op, found)
        return found

    def nonlinearities(self):
        """The same for nonlinear operations only."""
        products = set(op.name for op in self.operations if op.type in PRODUCTS and (
            self.varying(op)[1] if op.type in QUOTIENTS else sum(self.varying(op)) > 1))
        return collections.OrderedDict(
            (kind, places if kind in NONLINEAR else [place for place in places if place in products])
            for kind, places in self.places().items() if kind in NONLINEAR or not products.isdisjoint(places))

    def in_order(self):
        """The operations on the path as they were built."""
        return sorted(self.operations, key=_tf.number_of)

    def varying(self, op):
        """For each input of an operation, whether it depends on x.

        Raises:
            SaliencyError: it is in the body of a loop, branch or function, and more than one depends on what comes
                into that.
        """
        if op.graph is self.y.graph:
            return [tensor is self.x or tensor.op in self.operations for tensor in op.inputs]
        varying = [any(inner.type == "Placeholder" and inner.outputs[0].dtype.is_floating
                       for inner in _tf.upstream([tensor.op])) for tensor in op.inputs]
        if sum(varying) > 1:
            raise SaliencyError(
                "Operation {!r} (type {}) is in a body of control flow v2, where it cannot be told which of its inputs "
                "depend on {!r}: build the graph with control flow v1 (tf.compat.v1.disable_control_flow_v2()).".format(
                    place_in_graph(op), op.type, self.x.name))
        return varying

    def bytes_per_example(self):
        """What one example's activations between x and y take; None where the graph leaves their shapes open."""
        total = 0
        for tensor in [tensor for op in self.operations for tensor in op.outputs]:
            shape = tensor.shape[1:] if tensor.shape.ndims else tensor.shape
            if shape.is_fully_defined():
                total += shape.num_elements() * tensor.dtype.size
            elif tensor.shape.ndims is None or tensor.shape.ndims > 2:
                return None
        return total

    def cut(self):
        """The sentence that says where no gradient gets from y to x, and what would carry it."""
        if not self.x.dtype.is_floating and not self.x.dtype.is_complex:
            casts = [op.outputs[0].name for op in self.x.consumers()
                     if op in self.operations and op.outputs and op.outputs[0].dtype.is_floating]
            return "{!r} is {}, which has no gradient; take a tensor behind it{} as x and feed that.".format(
                self.x.name, self.x.dtype.base_dtype.name, ": " + " or ".join(map(repr, casts)) if casts else "")
        carried, cuts = {self.x}, []
        for op in self.in_order():
            if not any(tensor in carried for tensor in op.inputs):
                continue
            reason = _why_cut(op)
            if reason is None:
                carried.update(output for output in op.outputs if output.dtype.is_floating or output.dtype.is_complex)
            else:
                cuts.append((op, reason))
        shown = "; ".join("operation {!r} of type {} {}".format(op.name, op.type, reason)
                          for op, reason in cuts[:_SHOWN])
        if len(cuts) > _SHOWN:
            shown += "; and {} more".format(len(cuts) - _SHOWN)
        floating = [op.type for op, _ in cuts if all(output.dtype.is_floating for output in op.outputs)]
        remedy = ("Give an override that carries it, such as override=override_gradients({{{!r}: "
                  "rules.straight_through}}).".format(floating[0]) if floating else
                  "An override cannot carry that: build that part with tf_func_with_grad, or take y before it or x "
                  "behind it.")
        return "No gradient gets from {!r} to {!r}: {}. {}".format(
            self.y.name, self.x.name, shown or "the path is cut", remedy)


def _add_bodies(op, found):
    for body in _tf.bodies_of(op) if _tf.has_bodies(op.type) else ():
        if body.graph is None:
            for name, kind in body.operations:
                found.setdefault(kind, []).append("{}: {}".format(body.name, name))
            continue
        for inner in body.graph.get_operations():
            found.setdefault(inner.type, []).append(place_in_graph(inner))
            _add_bodies(inner, found)


def _why_cut(op):
    if op.type in ("StopGradient", "PreventGradient"):
        return "stops gradients"
    if not any(output.dtype.is_floating or output.dtype.is_complex for output in op.outputs):
        return "has an output of {}".format(" and ".join(
            sorted(set(output.dtype.base_dtype.name for output in op.outputs))) or "nothing")
    if _tf.bound_gradient(op) is not None or _tf.tag_of(op) is not None:
        return None
    try:
        gradient = _tf.own_gradient(op)
    except KeyError:
        return "has no gradient in TensorFlow {}".format(tf.__version__)
    return "is not differentiable" if gradient is None or op.type in _GIVE_NONE else None


#: Types whose registered gradient function returns None for its input.
_GIVE_NONE = frozenset(("Round", "Rint", "Floor", "Ceil", "OnesLike", "ZerosLike", "Shape", "Rank", "Size"))
