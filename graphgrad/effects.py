"""Which operations of a serialized graph reach outside of it: write files, call Python, talk to other processes.

Loading a model runs a few of its operations, those that fill its variables and tables; which ones, the file says. So
they are looked at first.
"""
#: Op types, by how they begin.
OUTSIDE = ("PyFunc", "EagerPyFunc", "Write", "Save", "MergeV2Checkpoints", "DistributedSave", "DatasetToTFRecord",
           "ExperimentalDatasetToTFRecord", "CacheDataset", "SnapshotDataset", "CreateSummary", "PrintV2", "Debug",
           "RemoteCall", "RegisterDataset", "DataService", "FileSystem", "Rpc", "TryRpc", "Abort")


def reaching_outside(definition, names=(), functions=()):
    """The first (name, op type) that reaches outside, of what running some operations would run; None if none does.

    Args:
        definition: a GraphDef.
        names: of the operations, or of their tensors.
        functions: names of functions of its library that are run.
    """
    nodes = {node.name: node for node in definition.node}
    library = {function.signature.name: function for function in definition.library.function}
    seen, front = set(), [nodes.get(_operation(name)) for name in names]
    run = set()
    front += _bodies(functions, library, run)
    while front:
        node = front.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node.op.startswith(OUTSIDE):
            return node.name, node.op
        front += [nodes.get(_operation(name)) for name in node.input]
        called = [node.op]
        for value in node.attr.values():
            called += [value.func.name] + [function.name for function in value.list.func]
        front += _bodies(called, library, run)
    return None


def _bodies(functions, library, run):
    """Every node of functions that were not run yet."""
    found = []
    for name in functions:
        if name in library and name not in run:
            run.add(name)
            found += library[name].node_def
    return found


def _operation(name):
    return name.lstrip("^").split(":")[0]
