"""The one room that touches tensorflow.python: TensorFlow's private parts behind small verbs.

Charter. Everything graphgrad needs of TensorFlow that has no public name is here, and nowhere else;
each verb names the private symbol it stands on. All were seen to work on 1.15.5, 2.15.1 and 2.21.0
unless the verb says otherwise. The rest of the package sees graphs, operations, tensors and plain
functions. Importing this module imports TensorFlow and changes nothing in it.
"""
import contextlib
import functools
import os
import sys
import threading

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.eager import execute as _execute
from tensorflow.python.framework import function as _defun
from tensorflow.python.framework import ops as _ops
from tensorflow.python.ops import gen_script_ops, script_ops

from .errors import OverrideError

try:
    from tensorflow.python.eager import record as _tape  # 2.11 and later
except ImportError:
    from tensorflow.python.eager import tape as _tape

v1 = tf.compat.v1
VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
#: TF 1.15 rebuilds the body of a v2 while or cond from its serialized form to differentiate it, so
#: nothing but the tag in the NodeDef reaches the gradient; from 2.x on the traced FuncGraph is used.
BODIES_KEEP_OPERATIONS = VERSION >= (2, 0)

_TAG = "_gradient_op_type"

#: Held while what the threads of a process share is changed: the registry, TensorFlow's hooks, the scopes of a graph,
#: logs. One for all, so that no two can wait for each other. Never taken where TensorFlow or the garbage
#: collector calls, as those may hold locks of TensorFlow's.
lock = threading.RLock()
if hasattr(os, "register_at_fork"):   # a forked process finds it free, whichever thread of its parent held it
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


# --- TensorFlow's gradient registry: ops._gradient_registry, a registry.Registry ----------------------

_registry = _ops._gradient_registry


def register(name, gradient):
    """Enter a gradient function under a name; KeyError if TensorFlow has the name already."""
    _registry.register(gradient, name)


def unregister(name):
    """Take a name out again (Registry._registry, a dict); quiet if it is not there."""
    _registry._registry.pop(name, None)


def registered_gradient(name):
    """The function that a name stands for in TensorFlow; None for "not differentiable"; KeyError if unknown."""
    try:
        return _registry.lookup(name)
    except LookupError:
        raise KeyError(name) from None


def is_registered(name):
    """Whether a name stands in TensorFlow's gradient registry."""
    try:
        registered_gradient(name)
    except KeyError:
        return False
    return True


def registered_names():
    """Every name in TensorFlow's gradient registry: op types and names of overrides."""
    return list(_registry.list())


def gradient_entrances():
    """What scripts register and override gradients with: ops.RegisterGradient, where it stands, and ops.Graph.

    On TF 1.15 the public module is a wrapper around the one that holds the name.
    """
    homes = [_ops, v1] + ([tf] if VERSION < (2, 0) else [])
    return {"register": _ops.RegisterGradient, "modules": homes, "graph": _ops.Graph}


def is_op_type(name):
    """Whether this process has an operation of that type, custom op libraries included."""
    from tensorflow.python.framework import op_def_registry
    if hasattr(op_def_registry, "get"):   # 2.x
        return op_def_registry.get(name) is not None
    return name in op_def_registry.get_registered_ops()


def op_types():
    """Names to suggest when an op type is misspelt: everything with a raw op or a registered gradient."""
    return sorted(set(name for name in dir(tf.raw_ops) if name[:1].isupper()) | set(
        name for name in registered_names() if is_op_type(name)))


# --- Tags and bindings ------------------------------------------------------------------------------
#
# A tag is the attribute _gradient_op_type in an operation's NodeDef: it names a gradient, is saved with
# the graph, and is what tf.Graph.gradient_override_map writes. A binding is a Python function put on one
# operation object: it is what tf.gradients calls for that operation, whatever the tag says; it is not
# saved, needs no registered name and, unlike a tag, can be put on and taken off an operation that a
# Session has run without TensorFlow's mutation warning.

def tag_of(op):
    """The gradient name an operation is tagged with (NodeDef attribute ``_gradient_op_type``), or None."""
    try:
        return op.get_attr(_TAG).decode()
    except ValueError:
        return None


def tag(op, name):
    """Write the tag. Operation._set_attr; only for operations that no Session has run yet."""
    op._set_attr(_TAG, attr_value_pb2.AttrValue(s=name.encode()))


class _Binding:
    __slots__ = ("gradient", "covered", "tensorflows")

    def __init__(self, gradient, covered, tensorflows):
        self.gradient = gradient        # what tf.gradients calls
        self.covered = covered          # the binding below this one, or None
        self.tensorflows = tensorflows  # Operation._gradient_function as TF had set it (function calls, 2.x)


class _BoundOperation(_ops.Operation):
    """A bound operation on TF 1.15, where Operation has no _gradient_function.

    ops.get_gradient_function asks it for its tag and is told a name under which what is bound is called; anybody
    else who asks is told the tag that is in the NodeDef. The asker is known by name, as the function may be wrapped.
    """

    TAG = "graphgrad.bound"

    def get_attr(self, name):
        asker = sys._getframe(1).f_code
        if name == _TAG and asker.co_name == "get_gradient_function" and asker.co_filename == _GRAPH_FILE:
            return self.TAG.encode()
        return super().get_attr(name)


_GRAPH_FILE = _ops.Graph.__init__.__code__.co_filename


def bind(op, gradient):
    """Make tf.gradients call ``gradient(op, *grads)`` for this operation; returns what ``unbind`` takes off again.

    Stands on Operation._gradient_function on 2.x, and on 1.15 on the class of the operation (_BoundOperation).
    """
    covered = getattr(op, "_graphgrad_binding", None)
    tensorflows = getattr(op, "_gradient_function", None) if covered is None else covered.tensorflows
    binding = op._graphgrad_binding = _Binding(gradient, covered, tensorflows)
    if VERSION >= (2, 0):
        op._gradient_function = gradient
    elif covered is None:
        if _BoundOperation.TAG not in _registry._registry:
            register(_BoundOperation.TAG, lambda op, *grads: bound_gradient(op)(op, *grads))
        op.__class__ = _BoundOperation
    return binding


def unbind(op, binding):
    """Take a binding off; if it was the innermost, that uncovers the one below or TensorFlow's own."""
    above = op._graphgrad_binding
    if above is not binding:
        while above.covered is not binding:
            above = above.covered
        above.covered = binding.covered
        return
    op._graphgrad_binding = binding.covered
    if VERSION >= (2, 0):
        op._gradient_function = binding.covered.gradient if binding.covered else binding.tensorflows
    elif binding.covered is None:
        op.__class__ = _ops.Operation


def bound_gradient(op):
    """The function bound to an operation, or None."""
    binding = getattr(op, "_graphgrad_binding", None)
    return binding.gradient if binding else None


def own_gradient(op):
    """The gradient TensorFlow itself would use for an operation, whatever tags and bindings say.

    Returns the function, or None for "not differentiable"; KeyError if its type has no gradient.
    """
    binding = getattr(op, "_graphgrad_binding", None)
    calls_own = binding.tensorflows if binding else getattr(op, "_gradient_function", None)
    if calls_own is not None:
        return calls_own
    if VERSION < (2, 0) and op.type in ("PartitionedCall", "StatefulPartitionedCall"):
        # 1.15 gives each traced function a gradient under a name of its own, and tags the call with it.
        return registered_gradient(tag_of(op) or op.type)
    return registered_gradient(op.type)


def is_function_body(graph):
    """Whether a graph is the body of a function, loop or branch (func_graph.FuncGraph), not a graph of its own."""
    return hasattr(graph, "outer_graph")


def outermost(graph):
    """The graph that a body was built in, at the end of the chain of ``outer_graph``."""
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    return graph


def keep_alive(graph, thing):
    """Let a graph own an object, together with the graphs it is a body in.

    In eager mode the last of those is the global default graph, which never dies: that one does not.
    """
    chain = [graph]
    while getattr(chain[-1], "outer_graph", None) is not None:
        chain.append(chain[-1].outer_graph)
    if len(chain) > 1 and not is_function_body(chain[-1]) and _ops.executing_eagerly_outside_functions():
        chain.pop()
    for owner in chain:
        if not hasattr(owner, "_graphgrad_owned"):
            owner._graphgrad_owned = {}
        owner._graphgrad_owned[id(thing)] = thing


@contextlib.contextmanager
def name_scope(name, default=None):
    """A name scope that no other thread opens here as well: TensorFlow numbers names without a lock (unique_name)."""
    with contextlib.ExitStack() as scopes:
        with lock:
            scope = scopes.enter_context(v1.name_scope(name, default))
        yield scope


# --- Python functions as operations -------------------------------------------------------------------

def python_operation(function, token, inputs, output_dtypes, stateful, name):
    """Add a PyFunc or PyFuncStateless that runs ``function``; returns its output tensors.

    gen_script_ops, and script_ops._py_funcs, the table in which the kernel looks its token up. TF's own
    tokens are pyfunc_0, pyfunc_1, ... in every process, so that a graph from elsewhere, or one placed on
    another task, runs whatever function has that number there. The caller must keep ``function`` alive:
    the table holds it weakly.
    """
    script_ops._py_funcs._funcs[token] = function
    make = gen_script_ops.py_func if stateful else gen_script_ops.py_func_stateless
    outputs = make(input=inputs, token=token, Tout=output_dtypes, name=name)
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def token_of(op):
    """The token of a PyFunc, PyFuncStateless or EagerPyFunc."""
    return op.get_attr("token").decode()


def has_python_function(token):
    """Whether this process has the function of a token (script_ops._py_funcs, which holds it weakly)."""
    return script_ops._py_funcs._funcs.get(token) is not None


def set_integer(op, attribute, value):
    """Write an attribute of our own into a NodeDef; its name must begin with an underscore."""
    op._set_attr(attribute, attr_value_pb2.AttrValue(i=value))


def integer(op, attribute):
    """Read such an attribute; None if it is not there."""
    try:
        return op.get_attr(attribute)
    except (ValueError, AttributeError):
        return None


# --- Hooks while a block is open ---------------------------------------------------------------------

_hook_users = 0


@contextlib.contextmanager
def hooks():
    """While open, in any thread, tapes follow bindings and traced functions tell overrides apart.

    Two functions of TensorFlow's are wrapped while at least one block is open; each passes on
    whatever has nothing to do with an override:
    ``execute.record_gradient``, to which generated op functions hand what they built: a GradientTape looks the
    op's type up and would see neither tags nor bindings;
    ``function_context.make_function_context`` (1.15: ``Function._cache_key``), tf.function's cache key: it has
    the device functions of a graph in it, but not where eager code is outside of that graph, so that
    a function traced before would be used again, without the override.
    """
    global _hook_users
    entered = False
    try:
        with lock:
            _hook_users += 1
            entered = True   # from here on, whatever interrupts it
            if _hook_users == 1:
                _execute.record_gradient = _record_binding
                _install_cache_key()
        yield
    finally:
        with lock:
            _hook_users -= entered
            if _hook_users == 0:
                _execute.record_gradient = _record_gradient
                _remove_cache_key()


def override_scopes():
    """The device functions of overrides that are open in the current graph: those marked ``graphgrad_scope``."""
    return tuple(function for function in _ops.get_default_graph()._device_functions_outer_to_inner
                 if getattr(function, "graphgrad_scope", False))


def innermost_device(graph):
    """The innermost device function that is open in a graph, for this thread; None if there is none."""
    functions = graph._device_functions_outer_to_inner
    return functions[-1] if functions else None


if VERSION >= (2, 0):
    from tensorflow.python.eager import forwardprop_util as _forwardprop_util
    from tensorflow.python.eager.polymorphic_function import function_context as _function_context
    _make_function_context = _function_context.make_function_context

    def _install_cache_key():
        _function_context.make_function_context = _context_with_scopes

    def _remove_cache_key():
        _function_context.make_function_context = _make_function_context

    def _context_with_scopes(*args, **kwargs):
        made = _make_function_context(*args, **kwargs)
        scopes = override_scopes()
        if not scopes or made.context.device_functions:
            return made
        return made._replace(context=made.context._replace(device_functions=scopes))
else:
    from tensorflow.python.eager import function as _function
    _cache_key = _function.Function._cache_key

    def _install_cache_key():
        _function.Function._cache_key = _key_with_scopes

    def _remove_cache_key():
        _function.Function._cache_key = _cache_key

    def _key_with_scopes(self, *args, **kwargs):
        made = _cache_key(self, *args, **kwargs)
        scopes = override_scopes()
        if not scopes or made.device_functions:
            return made
        return made._replace(device_functions=scopes)


def refuse_forward_mode(values, name):
    """Raise if a tf.autodiff.ForwardAccumulator watches one of some tensors (forwardprop_util.pack_tangents, 2.x).

    TensorFlow gets a forward derivative by transposing the backward one, which is right only for gradient functions
    that are linear in the incoming gradient.
    """
    if VERSION >= (2, 0):
        tensors = [value for value in values if isinstance(value, (tf.Tensor, tf.Variable))]
        if _forwardprop_util.pack_tangents(tensors).tangents:
            raise OverrideError(
                "A tf.autodiff.ForwardAccumulator is open over {}: a gradient function says how to go backwards, and "
                "has no forward derivative. Use a tf.GradientTape, or tf.gradients.".format(name))


_record_gradient = _execute.record_gradient


def _record_binding(op_name, inputs, attrs, results, *more):
    op = getattr(results[0], "op", None) if results and not _is_eager(results[0]) else None
    gradient = bound_gradient(op) if op is not None else None
    if gradient is None and op is not None:
        # Not bound yet: tf.device(None) hid it, and TensorFlow's own map has tagged it.
        name = tag_of(op)
        gradient = registered_gradient(name) if name and not name.startswith("CustomGradient-") else None
    # An override in TF 1's own spelling is not for tapes, which have never looked at it: old numbers depend on that.
    if gradient is None or getattr(getattr(gradient, "gradient", None), "for_tapes", True) is False:
        return _record_gradient(op_name, inputs, attrs, results, *more)
    refuse_forward_mode(inputs, "the operation {!r} (type {})".format(op.name, op.type))

    def backward(*grads):
        # The look-up that tf.gradients makes, so that whoever watches it sees this gradient too.
        current = _ops.get_gradient_function(op)
        got = current(op, *grads) if current is not None else [None] * len(op.inputs)
        return list(got) if isinstance(got, (list, tuple)) else [got]

    return _tape.record_operation(op_name, list(results), list(inputs), backward)


def _is_eager(tensor):
    return isinstance(tensor, _ops.EagerTensor)


# --- Bodies -----------------------------------------------------------------------------------------

_BODIES = {
    # op type: (NodeDef attribute with the function's name, attribute on the operation with its traced graph)
    "While": (("cond", "_cond_graph"), ("body", "_body_graph")),
    "If": (("then_branch", "_true_graph"), ("else_branch", "_false_graph")),
    "Case": (("branches", "_branch_graph_{}"),),
    "PartitionedCall": (("f", None),),
}
_BODIES.update({"Stateless" + name: _BODIES[name] for name in ("While", "If", "Case")})
_BODIES["StatefulPartitionedCall"] = _BODIES["PartitionedCall"]


class Body:
    """One function that an operation runs: a loop's condition or body, a branch, or a called function.

    Attributes:
        name: the name of the function in the graph's library.
        graph: the traced graph that TensorFlow differentiates, or None where it rebuilds one from the
            serialized function each time (TF 1.15; imported graphs).
        operations: (name, type) of each operation in it; known in either case. Without a traced graph also
            those of the functions that it runs itself.
    """

    def __init__(self, name, graph, operations):
        self.name = name
        self.graph = graph
        self.operations = operations


def is_call(op):
    """Whether an operation calls a function that other operations may call too."""
    return op.type in ("PartitionedCall", "StatefulPartitionedCall")


def has_bodies(op_type):
    """Whether operations of a type run functions: control flow v2 and calls."""
    return op_type in _BODIES


def bodies_of(op):
    """The functions an operation runs. Stands on Graph._get_function and the traced graphs TF keeps on operations."""
    bodies = []
    for attribute, kept_as in _BODIES.get(op.type, ()):
        value = op.get_attr(attribute)
        for index, function in enumerate(value if isinstance(value, (list, tuple)) else [value]):
            definition = _library_function(op.graph, function.name)
            traced = getattr(op, kept_as.format(index), None) if kept_as else None
            if traced is None and definition is not None and BODIES_KEEP_OPERATIONS and is_call(op):
                traced = getattr(definition, "graph", None)
            if traced is not None:
                operations = [(inner.name, inner.type) for inner in traced.get_operations()]
            elif definition is not None:
                operations = [(name, node.op) for name, node in _nodes(op.graph, function.name)]
            else:
                operations = []
            bodies.append(Body(function.name, traced, operations))
    return bodies


def _library_function(graph, name):
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            return function
        graph = getattr(graph, "outer_graph", None)
    return None


def _nodes(graph, name):
    """(name, NodeDef) of everything that a library function runs, down through the functions it runs itself."""
    definition = _library_function(graph, name)
    for node in _function_def(definition).node_def if definition is not None else ():
        yield node.name, node
        for value in node.attr.values():
            for function in ([value.func] if value.HasField("func") else value.list.func):
                for inner, inner_node in _nodes(graph, function.name):
                    yield "{}/{}".format(node.name, inner), inner_node


def _function_def(function):
    """The FunctionDef of a library function; ``definition`` is a property, ``cached_definition`` newer than it."""
    return function.cached_definition if hasattr(function, "cached_definition") else function.definition


def untagged(op, body):
    """(name, type) of the operations in a body of ``op`` that carry no tag."""
    if body.graph is not None:
        return [(inner.name, inner.type) for inner in body.graph.get_operations() if tag_of(inner) is None]
    return [(name, node.op) for name, node in _nodes(op.graph, body.name) if _TAG not in node.attr]


def has_loop_context(op):
    """Whether TensorFlow knows which v1 loop an Exit belongs to (Operation._get_control_flow_context)."""
    return op._get_control_flow_context() is not None


def tagged(op, body):
    """(name, type, tag or None) of the operations in a body of ``op`` that TensorFlow holds in serialized form."""
    return [(name, node.op, node.attr[_TAG].s.decode() if _TAG in node.attr else None)
            for name, node in _nodes(op.graph, body.name)]


DEFUN_TEXT = ("The current graph is the body of a Defun, which TensorFlow differentiates in C++ and asks no gradient "
              "function: {}. Make it a tf.function.")


def is_defun(graph):
    """Whether a graph is the body of a Defun (framework.function._FuncGraph)."""
    return isinstance(graph, _defun._FuncGraph)


def is_defun_call(op):
    """Whether an operation calls a Defun, or an imported function: its type is the function's name."""
    return op.graph._is_function(op.type)


def defun_operations(op):
    """(name, type) of everything that such a call runs."""
    return [(name, node.op) for name, node in _nodes(op.graph, op.type)]


def is_recomputation(op):
    """Whether an IdentityN stands for a tf.recompute_grad."""
    return _recomputation(op) is not None


def wrap_recomputation(op, around):
    """Let a tf.recompute_grad build its function again inside ``with around():``."""
    cell = _recomputation(op)
    gradient = cell.cell_contents

    @functools.wraps(gradient)
    def again(*args, **kwargs):
        with around():
            return gradient(*args, **kwargs)

    cell.cell_contents = again


def _recomputation(op):
    """The cell in which custom_gradient._graph_mode_decorator keeps the gradient function of a recompute_grad.

    The gradient registered for the operation and the one that a tape is given both call what is in that cell.
    """
    name = tag_of(op) or ""
    if not name.startswith("CustomGradient-"):
        return None
    tape_gradient = _cells(registered_gradient(name)).get("tape_grad_fn")
    cell = _cells(tape_gradient.cell_contents).get("grad_fn") if tape_gradient is not None else None
    gradient = cell.cell_contents if cell is not None else None
    return cell if getattr(gradient, "__qualname__", "").startswith("recompute_grad.") else None


def _cells(function):
    code = getattr(function, "__code__", None)
    return dict(zip(code.co_freevars, function.__closure__ or ())) if code is not None else {}


def backward_cache(op):
    """The dict in which TF keeps the backward functions it built for a called function, or None if unknown.

    ConcreteFunction's _DelayedRewriteGradientFunctions._cached_function_pairs, 2.x: the method bound
    to it is the call's _gradient_function.
    """
    owner = getattr(own_gradient(op), "__self__", None)
    return getattr(owner, "_cached_function_pairs", None)


def watch_gradients(seen):
    """Call ``seen(ys, xs, gradients, first, last)`` after each tf.gradients outside of bodies; returns what ends it.

    ``first`` and ``last`` are the graph's versions before and after. Stands on gradients_util._GradientsHelper.
    """
    from tensorflow.python.ops import gradients_util
    original = gradients_util._GradientsHelper

    def helper(ys, xs, *args, **kwargs):
        graph = _ops.get_default_graph()
        first = graph.version
        gradients = original(ys, xs, *args, **kwargs)
        if not is_function_body(graph):
            seen(ys, xs, gradients, first, graph.version)
        return gradients

    gradients_util._GradientsHelper = helper
    return lambda: setattr(gradients_util, "_GradientsHelper", original)


def select(condition, x, y):
    """tf.compat.v1.where of three tensors of one shape; TensorFlow 1.15 logs that it is deprecated."""
    return tf.raw_ops.Select(condition=condition, x=x, y=y)


def has_default_graph():
    """Whether there is a current graph that something was built in, without making one (ops._default_graph_stack)."""
    stack = _ops._default_graph_stack
    return bool(stack.stack) or stack._global_default_graph is not None


def number_of(op):
    """The ``version`` of its graph right after an operation was added (Operation._id; one more than it on 2.x)."""
    return op._id if VERSION < (2, 0) else op._id - 1


def operations_since(graph, version):
    """The operations added to a graph after its ``version`` was that number, in order."""
    return [op for op in graph.get_operations() if number_of(op) > version]


def operations_with_bodies(graph):
    """Every (operation, body path) of a graph, traced bodies included; the path is () in the graph itself."""
    stack, seen = [(graph, ())], set()
    while stack:
        current, path = stack.pop()
        taken_apart = not getattr(current, "__dict__", True)   # what TF does with the graph of a function that is gone
        if current in seen or taken_apart:
            continue
        seen.add(current)
        for op in current.get_operations():
            yield op, path
            for body in bodies_of(op) if has_bodies(op.type) else ():
                if body.graph is not None:
                    stack.append((body.graph, path + (op.name,)))


def upstream(ops, beside=()):
    """The operations that any of these is computed from, themselves included; not by way of the types ``beside``."""
    return _closure(ops, lambda op: [tensor.op for tensor in op.inputs if tensor.op.type not in beside])


def downstream(ops, beside=()):
    """The operations that are computed from any of these, themselves included; not by way of the types ``beside``."""
    return _closure(ops, lambda op: [
        taker for output in op.outputs for taker in output.consumers() if taker.type not in beside])


def _closure(ops, following):
    reached, stack = set(), list(ops)
    while stack:
        op = stack.pop()
        if op not in reached:
            reached.add(op)
            stack += following(op)
    return reached


def differentiated_by(op):
    """The operation whose gradient tf.gradients built this one for, or None (Operation._original_op). Not for tapes."""
    return op._original_op


# --- Models in files --------------------------------------------------------------------------------

def eager():
    """A block in which eager execution is on, also where it was never enabled (context.eager_mode)."""
    from tensorflow.python.eager import context
    return context.eager_mode()


def freeze(function):
    """A traced function with its variables as constants and the functions it calls written out.

    convert_to_constants.convert_variables_to_constants_v2; returns a traced function. Loops and branches stay whole.
    """
    from tensorflow.python.framework import convert_to_constants
    return convert_to_constants.convert_variables_to_constants_v2(function, lower_control_flow=False)


#: What protobuf raises over bytes that are no message. The package is what TensorFlow needs, and has imported.
DecodeError = sys.modules["google.protobuf.message"].DecodeError
text_format = sys.modules["google.protobuf.text_format"]


def saved_model_contents(path):
    """The MetaGraphDefs of a SavedModel folder (loader_impl.parse_saved_model); OSError if they cannot be read."""
    try:
        from tensorflow.python.saved_model.loader_impl import parse_saved_model
    except ImportError:
        from tensorflow.python.saved_model.loader_impl import _parse_saved_model as parse_saved_model
    return list(parse_saved_model(path).meta_graphs)


def load_saved_model(session, path, tags, change):
    """Load a SavedModel of TF 1 into a Session, after ``change(graph_def)`` (loader_impl.SavedModelLoader)."""
    from tensorflow.python.saved_model.loader_impl import SavedModelLoader
    loader = SavedModelLoader(path)
    for meta in loader._saved_model.meta_graphs:
        if set(meta.meta_info_def.tags) == set(tags):
            change(meta.graph_def)
    loader.load(session, tags)
