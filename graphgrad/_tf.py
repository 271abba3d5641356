"""The one room that touches tensorflow.python: TensorFlow's private parts behind small verbs.

Charter. Everything graphgrad needs of TensorFlow that has no public name is here, and nowhere else;
each verb names the private symbol it stands on and the versions it was seen to work with (1.15.5,
2.15.1 and 2.21.0 unless it says otherwise). The rest of the package sees graphs, operations,
tensors and plain functions. Importing this module imports TensorFlow and changes nothing in it.
"""
import contextlib
import weakref

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import ops as _ops

v1 = tf.compat.v1
VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
#: TF 1.15 rebuilds the body of a v2 while or cond from its serialized form to differentiate it, so
#: nothing but the tag in the NodeDef reaches the gradient; from 2.x on the traced FuncGraph is used.
BODIES_KEEP_OPERATIONS = VERSION >= (2, 0)

_TAG = "_gradient_op_type"


# --- Tags -------------------------------------------------------------------------------------------

def tag_of(op):
    """The gradient name an operation is tagged with (NodeDef attribute ``_gradient_op_type``), or None."""
    try:
        return type(op).get_attr(op, _TAG).decode()
    except ValueError:
        return None


# --- Bodies -----------------------------------------------------------------------------------------

def bodies_of(op):
    """The traced graphs that an operation runs: of while, cond, case (control flow v2) and function calls.

    Stands on Graph._get_function(name).graph and on the ``_body_graph``-like attributes that TF keeps
    on the operation. A function that is known by its serialized form alone (an imported graph) has no
    traced graph and is not listed; ``body_names`` has it.
    """
    bodies = []
    for name in body_names(op):
        body = _traced_graph(op.graph, name)
        if body is not None:
            bodies.append(body)
    return bodies


_BODY_ATTRIBUTES = {
    "While": ("cond", "body"), "StatelessWhile": ("cond", "body"),
    "If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch"),
    "Case": ("branches",), "StatelessCase": ("branches",),
    "PartitionedCall": ("f",), "StatefulPartitionedCall": ("f",),
}


def body_names(op):
    """The names of the library functions that an operation runs, for the op types that can be differentiated."""
    names = []
    for attribute in _BODY_ATTRIBUTES.get(op.type, ()):
        value = op.get_attr(attribute)
        names += [f.name for f in (value if isinstance(value, (list, tuple)) else [value])]
    return names


def _traced_graph(graph, name):
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            # A function made from its serialized form alone raises AttributeError or has None here.
            return getattr(function, "graph", None)
        graph = getattr(graph, "outer_graph", None)
    return None


def operations_with_bodies(graph):
    """Every (operation, body path) of a graph, bodies included; the path is () in the graph itself."""
    stack = [(graph, ())]
    seen = set()
    while stack:
        current, path = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for op in current.get_operations():
            yield op, path
            if op.type in _BODY_ATTRIBUTES:
                stack += [(body, path + (op.name,)) for body in bodies_of(op)]


# --- Watching, for the script runner ----------------------------------------------------------------

@contextlib.contextmanager
def watch_gradients(callback):
    """Call ``callback(op)`` for every operation that tf.gradients differentiates while the block is open.

    Wraps tensorflow.python.framework.ops.get_gradient_function, which gradients_util looks up anew for
    each operation. It is for the runner of old scripts alone, which owns its process.
    """
    original = _ops.get_gradient_function

    def watching(op):
        callback(op)
        return original(op)

    _ops.get_gradient_function = watching
    try:
        yield
    finally:
        _ops.get_gradient_function = original
