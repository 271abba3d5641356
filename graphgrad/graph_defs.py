"""GraphDefs from files, looked at before TensorFlow takes their word: what could not be run, and what reaches outside.

Over a constant whose values are of another dtype than the operation's TensorFlow ends the process, and over a function
that calls itself; it asks for as much memory as a shape says, of a file of a hundred bytes, and puts functions in the
place of their calls however many that makes. Loading a model runs a few of its operations, those that fill
its variables and tables; which ones, the file says.
"""
import itertools

import tensorflow

_UNPACKED = 1 << 28    # bytes that any constant may have,
_UNFOLDED = 20000      # operations that a graph may have with functions in the place of their calls,
_MOST_GAIN = 100       # and how many times what either is in the file, if that is more
_DEEPEST = 200         # calls in each other

#: Op types, by how they begin.
OUTSIDE = ("PyFunc", "EagerPyFunc", "Write", "Save", "MergeV2Checkpoints", "DistributedSave", "DatasetToTFRecord",
           "ExperimentalDatasetToTFRecord", "CacheDataset", "SnapshotDataset", "CreateSummary", "PrintV2", "Debug",
           "Remote", "RegisterDataset", "DataService", "FileSystem", "Rpc", "TryRpc", "Abort")

#: What TensorFlow calls of an object of a SavedModel when it loads it.
_INITIALIZERS = ("_initialize", "_create_resource", "_destroy_resource")


def nodes_of(definition):
    """Every node of a GraphDef, those of the functions of its library too."""
    return itertools.chain(definition.node, *(function.node_def for function in definition.library.function))


def refuse_unbelievable(path, definition, error):
    """Raise an error of that class over a constant of a GraphDef that is not what it says, or functions without end."""
    for node in nodes_of(definition):
        if node.op == "Const":
            problem = _problem(node.attr["dtype"].type, node.attr["value"].tensor)
            if problem:
                raise error("{} is damaged: its constant {!r} {}.".format(path, node.name, problem))
    problem = _endless(definition)
    if problem:
        raise error("{} cannot be run: {}.".format(path, problem))


def _problem(dtype, value):
    if value.dtype != dtype:
        return "holds values of another dtype than its own"
    try:
        size = tensorflow.as_dtype(dtype).size
    except TypeError:
        return "is of no known dtype"
    for dimension in value.tensor_shape.dim:
        if dimension.size < 0:
            return "has a dimension of {}".format(dimension.size)
        size *= dimension.size
    if size > max(_UNPACKED, _MOST_GAIN * value.ByteSize()):
        return "claims {} bytes, of {} in the file".format(size, value.ByteSize())
    return None


def _endless(definition):
    """Which function of a GraphDef calls itself, or too many others, as a clause; None if none does."""
    library = {function.signature.name: function.node_def for function in definition.library.function}
    if not library:
        return None
    most = max(_UNFOLDED, _MOST_GAIN * (len(definition.node) + sum(map(len, library.values()))))
    sizes, depths, inside = {}, {}, set()   # of functions that are done; those that are being looked at

    def calls_of(nodes):
        return [name for node in nodes for name in _called(node) if name in library]

    def size(nodes, called):
        """How many operations they are with functions in the place of their calls."""
        return min(most + 1, len(nodes) + sum(sizes[name] for name in called))

    calls = {name: calls_of(nodes) for name, nodes in library.items()}
    stack = list(library)
    while stack:
        name = stack[-1]
        if name in sizes:
            stack.pop()
        elif name in inside:
            inside.remove(name)
            sizes[name] = size(library[name], calls[name])
            depths[name] = 1 + max((depths[called] for called in calls[name]), default=0)
        else:
            inside.add(name)
            below = set(calls[name]).difference(sizes)
            if not below.isdisjoint(inside):
                return "its function {!r} calls itself".format(name)
            stack += below
    if max(size(definition.node, calls_of(definition.node)), *sizes.values()) > most:
        return "its functions call each other so often that it is more than {} operations".format(most)
    depth = max(depths.values())
    return "its functions call each other {} deep".format(depth) if depth > _DEEPEST else None


def _called(node):
    """The names of the functions that a node may call."""
    yield node.op
    for value in node.attr.values():
        yield value.func.name
        for function in value.list.func:
            yield function.name


def reaching_outside(definition, names=(), functions=(), fed=(), allowed=()):
    """The first (name, op type) that reaches outside, of what running some operations would run; None if none does.

    Args:
        definition: a GraphDef.
        names: of the operations, or of their tensors.
        functions: names of functions of its library that are run. The gradient functions in it may be, by TensorFlow.
        fed: names of tensors that are fed, whose operations are then not run for them.
        allowed: op types that may.
    """
    library = {function.signature.name: function for function in definition.library.function}
    gradients = list(definition.library.gradient) + list(getattr(definition.library, "registered_gradients", ()))
    waiting = [_upstream(definition, names, fed)]
    waiting += [library.pop(name).node_def for name in list(functions) + [one.gradient_func for one in gradients]
                if name in library]   # popped: each is looked at once
    while waiting:
        for node in waiting.pop():
            if node.op.startswith(OUTSIDE) and node.op not in allowed and not _prints(node):
                return node.name, node.op
            waiting += [library.pop(name).node_def for name in _called(node) if name in library]
    return None


def _upstream(definition, names, fed):
    """The nodes that run for operations or tensors of those names, if some tensors are fed."""
    fed = set(name[:-2] if name.endswith(":0") else name for name in fed)   # as a GraphDef spells them
    nodes = {node.name: node for node in definition.node}
    found, front = {}, list(names)
    while front:
        name = _operation(front.pop())
        if name in nodes and name not in found:
            found[name] = nodes[name]
            front += [wanted for wanted in nodes[name].input if wanted not in fed]
    return found.values()


def run_by_loading(meta):
    """(names of operations, names of functions) that TensorFlow runs when it loads a MetaGraphDef of a SavedModel."""
    operations = [meta.saver_def.restore_op_name]
    for key in ("saved_model_main_op", "legacy_init_op"):
        operations += meta.collection_def[key].node_list.value if key in meta.collection_def else ()
    for key, signature in meta.signature_def.items():
        if key.startswith("__saved_"):
            operations += [info.name for info in signature.outputs.values()]
    functions = []
    nodes = meta.object_graph_def.nodes if hasattr(meta, "object_graph_def") else ()
    for node in nodes:
        for child in node.children:
            if child.local_name in _INITIALIZERS and child.node_id < len(nodes):
                functions += nodes[child.node_id].function.concrete_functions
        for saveable in getattr(node, "saveable_objects", {}).values():
            if saveable.restore_function < len(nodes):
                functions += nodes[saveable.restore_function].function.concrete_functions
    return operations, functions


def _prints(node):
    """Whether it is a tf.print to a stream of the process, not to a file."""
    return node.op == "PrintV2" and not node.attr["output_stream"].s.startswith(b"file://")


def _operation(name):
    return name.lstrip("^").split(":")[0]
