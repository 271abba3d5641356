"""What a graph from elsewhere lacks in this process: gradient names, Python functions, what its loops were built with.

A saved graph keeps names and numbers only. TensorFlow speaks up when such a graph is differentiated or run, and
names neither what is missing nor what to do.
"""
import collections

from . import _tf
from .errors import OverrideError, RegistrationError
from .report import place_in_graph

_PYTHON_TYPES = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_MADE_BY_A_CALL = ("CustomGradient-", "PartitionedCall-")   # TensorFlow's own names, of one process
_SHOWN = 3


def unregistered(graph):
    """Ordered dict from each gradient name that this process does not have to the operations that carry it."""
    missing = collections.OrderedDict()
    for op, _ in _tf.operations_with_bodies(graph):
        _add(missing, _tf.tag_of(op), place_in_graph(op))
        for body in _tf.bodies_of(op) if _tf.has_bodies(op.type) else ():
            if body.graph is None:
                for name, _, tag in _tf.tagged(op, body):
                    _add(missing, tag, "{}: {}".format(body.name, name))
    return missing


def _add(missing, tag, where):
    if tag is not None and not _tf.is_registered(tag):
        missing.setdefault(tag, []).append(where)


def unregistered_text(name, where):
    """The sentence about one such name, with what to do."""
    number = "1 op" if len(where) == 1 else "{} ops".format(len(where))
    text = ("The gradient name {!r} is not registered in this process, and {} carry it as a tag ({}): tf.gradients "
            "through them fails. ").format(name, number, some(where))
    if name.startswith(_MADE_BY_A_CALL):
        return text + ("It is TensorFlow's own name for one call in the process that built the graph: build it with "
                       "tf_func_with_grad and a registered gradient to find it again.")
    return text + ("Import the module that registers it, or register one: "
                   "@graphgrad.register_gradient({!r}).").format(name)


def lost_python_functions(graph):
    """[(operation's place, token)] of the operations whose Python function this process does not have."""
    return [(place_in_graph(op), _tf.token_of(op)) for op, _ in _tf.operations_with_bodies(graph)
            if op.type in _PYTHON_TYPES and not _tf.has_python_function(_tf.token_of(op))]


def lost_python_function_text(where, token):
    """The sentence about one of them."""
    return ("Operation {!r} runs a Python function that is not in this process ({}), and no file keeps one: build the "
            "graph here, or use tf_func_with_grad.".format(where, token))


def loops_without_context(graph):
    """Names of the loops of control flow v1 that a GraphDef was imported with: TensorFlow cannot differentiate them."""
    return [op.name for op in graph.get_operations() if op.type == "Exit" and not _tf.has_loop_context(op)]


def loops_without_context_text(names):
    """The sentence about them."""
    return ("TensorFlow cannot differentiate the loops of an imported GraphDef, which does not keep what that takes "
            "({}): import a meta graph of it (tf.train.export_meta_graph), or build it again.".format(some(names)))


def explain(error, graph):
    """Raise what TensorFlow's error comes from, if it comes from what the graph lacks."""
    if isinstance(error, LookupError) and "No gradient defined for operation" in str(error):
        texts = [unregistered_text(name, where) for name, where in unregistered(graph).items()]
        if texts:
            raise RegistrationError(" ".join(texts)) from error
    if isinstance(error, AttributeError) and "outer_context" in str(error):
        names = loops_without_context(graph)
        if names:
            raise OverrideError(loops_without_context_text(names)) from error


def some(names):
    """The first of some names, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (" and {} more".format(more) if more > 0 else "")
