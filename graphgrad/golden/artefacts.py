"""Old files as evidence: compare a checkpoint, .meta, frozen graph or SavedModel of TensorFlow 1 with an old recording.

The recorded feeds go in, the recorded fetches come out. Where the file has the values of its variables, operations (an
initializer, a training step) are not run; a graph without values starts from the recorded initial ones, and they are.
"""
import importlib
import os

import numpy as np
import tensorflow

from .. import _tf
from ..errors import UsageError
from ..graph_defs import nodes_of, reaching_outside, refuse_unbelievable, run_by_loading
from ..reasons import reason
from .compare import compare
from .memory import InMemory
from .names import match
from .recorder import Recorder
from .replay import Replay
from .report import Report

_PY_FUNCS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
tf = tensorflow.compat.v1


def compare_artefact(path, old, mapping=None, tolerances=None, py_funcs=None):
    """Compare an old file with an old Recording.

    Args:
        path: a checkpoint's prefix, .meta, frozen .pb, .pbtxt, or the folder of a SavedModel.
        old: the Recording.
        mapping: {old name: name in the file}.
        tolerances: {pattern or dtype: (relative, normwise)}.
        py_funcs: {token: "module:function"}, the Python functions of the graph.

    Returns:
        A Report.

    Raises:
        UsageError: the file cannot be read, has Python functions that are not given, or what is recorded of it would
            write files or talk to other processes.
    """
    if os.path.exists(path + ".index") and not os.path.exists(path + ".meta"):
        new = _checkpoint_values(path, old)
        notes = ["a checkpoint without its .meta has no graph: the final values of the variables are compared"]
    else:
        new, notes = _run_graph(path, old, mapping or {}, py_funcs or {})
    result = compare(new, old, mapping, tolerances, any_arguments=True)
    result.notes += notes
    return Report("{} against {}".format(path, old.path), result, new, old)


def _checkpoint_values(path, old):
    try:
        reader = tf.train.NewCheckpointReader(path)
        there = reader.get_variable_to_shape_map()
    except Exception as error:   # what it raises depends on the version
        raise UsageError("{} cannot be read as a checkpoint: {}.".format(path, reason(error))) from None
    new = InMemory({"tensorflow": tf.__version__})
    for variable in old.variables:
        name = variable["name"].rsplit(":", 1)[0]
        if "final" in variable and name in there:
            new.add_variable(variable["session"], variable["name"], reader.get_tensor(name))
    if not new.variables:
        raise UsageError("{} has none of the variables of {}, so there is nothing to compare.".format(path, old.path))
    for run in old.runs:
        new.skip_run(run)
    return new


def _run_graph(path, old, mapping, py_funcs):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        functions = _PyFuncs(path, py_funcs)
        has_values = _load(path, session, functions)
        new = InMemory({"tensorflow": tf.__version__, "onednn": old.meta.get("onednn")})
        replay = Replay(old, mapping)
        recorder = Recorder(replay=None if has_values else replay)
        recorder.meta["tensorflow"] = tf.__version__
        names = _Names(graph, mapping)
        planned = [_Run(run, names, has_values) for run in old.runs]
        definition = graph.as_graph_def()
        for fetched, fed in sorted(set((one.fetched, one.fed) for one in planned)):   # all, before the first runs
            functions.refuse_outside(definition, fetched, fed)
        with recorder:
            for one in planned:
                try:
                    one.add_to(new, session, old)
                except (ValueError, TypeError, RuntimeError, tf.errors.OpError) as error:
                    raise UsageError("{} cannot compute {}: {}.".format(
                        path, ", ".join(one.fetched), reason(error))) from None
        recorder.discard()
        new.graphs = recorder.meta["graphs"]
        new.meta["overrides"] = recorder.meta["overrides"]
        notes = _unregistered(graph)
    if names.missing:
        notes.append("{} recorded tensors are not in the graph, the first of them {}; give its name with --map".format(
            len(names.missing), sorted(names.missing)[0]))
    unfed = sum(one.unfed for one in planned)
    if unfed:
        notes.append("{} runs are left out: the recording has not the whole of what they were fed".format(unfed))
    if not new.compared:
        raise UsageError("{} has none of the tensors of {}, so there is nothing to compare.".format(path, old.path))
    return new, notes


class _Run:
    """A recorded run in another graph.

    Attributes:
        fetched: the names of the tensors and operations to fetch there; none if it cannot be run.
        fed: the names of the tensors to feed there.
        unfed: whether it cannot be run because the recording does not keep what it was fed.
    """

    def __init__(self, run, names, has_values):
        self._run = run
        self._feeds = None    # {tensor: entry of its recorded value}
        self.fetched = self.fed = ()
        self.unfed = False
        if run.get("skipped"):
            return
        self._tensors = [names.tensor(entry["name"]) for entry in run["fetches"] if entry["kind"] != "none"]
        self._operations = [] if has_values else [
            names.operation(entry["name"]) for entry in run["fetches"] if entry["kind"] == "none"]
        feeds = {names.tensor(entry["name"]): entry for entry in run["feeds"]}
        self.unfed = not all(map(_is_kept, run["feeds"]))
        if not self.unfed and None not in self._tensors and None not in self._operations and None not in feeds and all(
                entry["kind"] in ("array", "none", "strings", "sampled") for entry in run["fetches"]):
            self._feeds = feeds
            self.fetched = tuple(one.name for one in self._tensors + self._operations)
            self.fed = tuple(tensor.name for tensor in feeds)

    def add_to(self, new, session, old):
        """Feed what was fed, fetch what was fetched."""
        if self._feeds is None:
            new.skip_run(self._run)
            return
        feeds = {tensor: _fed(entry, old) for tensor, entry in self._feeds.items()}
        values = iter(session.run([self._tensors, self._operations], feeds)[0])
        new.add_run([(entry["name"], None if entry["kind"] == "none" else next(values))
                     for entry in self._run["fetches"]], self._run["feeds"], old)


def _is_kept(entry):
    """Whether the recording has what was fed; not in parts, sampled, or as text that stands for other bytes."""
    return entry["kind"] == "array" or entry["kind"] == "strings" and not any("\\x" in text for text in entry["values"])


def _fed(entry, old):
    """What was fed, of what the recording has."""
    if entry["kind"] == "array":
        return old.array(entry["key"])
    return np.array(entry["values"], object).reshape(entry["shape"])


class _Names:
    """Finds recorded names in a graph, also those that TensorFlow's versions spell otherwise."""

    def __init__(self, graph, mapping):
        self._graph = graph
        self._mapping = mapping
        self._operations = [op.name for op in graph.get_operations()]
        self._there = set(self._operations)
        self.missing = set()

    def operation(self, name):
        """The operation of that name; None if there is none."""
        name = self._mapping.get(name, name).split(":")[0]
        if name not in self._there:
            pairs, _, _ = match(self._operations, [name])
            if not pairs:
                self.missing.add(name)
                return None
            name = self._operations[pairs[0][0]]
        return self._graph.get_operation_by_name(name)

    def tensor(self, name):
        """The tensor of that name; None if there is none."""
        op = self.operation(name)
        place = int(self._mapping.get(name, name).rpartition(":")[2] or 0) if ":" in name else 0
        return op.outputs[place] if op is not None and place < len(op.outputs) else None


def _unregistered(graph):
    """A sentence for each gradient tag of the graph that nobody has registered in this process."""
    definition = graph.as_graph_def()
    tags = {}
    for node in nodes_of(definition):
        tag = node.attr["_gradient_op_type"].s.decode("utf-8", "replace") if "_gradient_op_type" in node.attr else None
        if tag and not tag.startswith(("CustomGradient-", "PartitionedCall-")):
            tags.setdefault(tag, []).append(node.op)
    known = _tf.registered_names()
    return ["{} {} operations have the gradient {!r}, which is not registered here: gradients that the file holds run, "
            "new ones cannot be built before it is".format(len(types), "/".join(sorted(set(types))), tag)
            for tag, types in sorted(tags.items()) if tag not in known]


class _PyFuncs:
    """Gives the Python functions of a loaded graph tokens of this process; another's tokens may mean anything here."""

    def __init__(self, path, given):
        self._path = path
        self._given = given
        self._tokens = {}
        self._ours = ()
        self._graph = tf.Graph()   # keeps the functions alive

    def replace(self, definition):
        """Put tokens of this process into a GraphDef."""
        self._ours = _PY_FUNCS
        for node in nodes_of(definition):
            if node.op in _PY_FUNCS:
                node.attr["token"].s = self._token(node)

    def refuse(self, graph):
        """For a graph that was loaded whole, in which tokens cannot be put any more."""
        for op in graph.get_operations():
            if op.type in _PY_FUNCS:
                raise UsageError("{} holds the Python function {!r} ({}), which is not saved with it, and a SavedModel "
                                 "cannot be given one: export its graph as a .pb.".format(
                                     self._path, op.get_attr("token").decode("utf-8", "replace"), op.name))

    def refuse_outside(self, definition, names, fed=(), functions=()):
        """Refuse what would write files, call Python that was not given, or talk to other processes, if it were run."""
        found = reaching_outside(definition, names, functions, fed, self._ours)
        if found is not None:
            raise UsageError("To compare {} would run its operation {!r} (type {}), which reaches outside of "
                             "TensorFlow, and a file is not trusted with that.".format(self._path, *found))

    def _token(self, node):
        token = node.attr["token"].s.decode("utf-8", "replace")
        if token not in self._tokens:
            if token not in self._given:
                raise UsageError("{} holds the Python function {!r} ({}), which is not saved with it: give it with "
                                 "--py-func {}=MODULE:FUNCTION.".format(self._path, token, node.name, token))
            with self._graph.as_default():
                made = tf.py_func(_function(self._given[token]), [], tf.float32)
            self._tokens[token] = made.op.get_attr("token")
        return self._tokens[token]


def _function(word):
    module, _, name = word.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError("There is no function {!r} for --py-func ({}); it is given as MODULE:FUNCTION.".format(
            word, error)) from None


def _load(path, session, functions):
    """Load a graph into the session; returns whether the values of its variables came with it."""
    try:
        if os.path.isdir(path):
            for meta in _tf.saved_model_contents(path):
                refuse_unbelievable(path, meta.graph_def, UsageError)
                operations, called = run_by_loading(meta)
                functions.refuse_outside(meta.graph_def, operations, functions=called)
            tf.saved_model.loader.load(session, ["serve"], path)
            functions.refuse(session.graph)
            return True
        prefix = path[:-len(".meta")] if path.endswith(".meta") else path
        if path.endswith((".pb", ".pbtxt", ".pb.txt")):
            definition = _graph_def(path)
            refuse_unbelievable(path, definition, UsageError)
            functions.replace(definition)
            tf.import_graph_def(definition, name="")
            return not any(node.op in ("Variable", "VariableV2", "VarHandleOp") for node in definition.node)
        meta = tf.MetaGraphDef()
        with open(prefix + ".meta", "rb") as stream:
            meta.ParseFromString(stream.read())
        refuse_unbelievable(path, meta.graph_def, UsageError)
        functions.replace(meta.graph_def)
        saver = tf.train.import_meta_graph(meta)
        if saver is None or not (os.path.exists(prefix + ".index") or os.path.exists(prefix)):
            return False
        functions.refuse_outside(meta.graph_def, [saver.saver_def.restore_op_name])
        saver.restore(session, prefix)
        return True
    except UsageError:
        raise
    except Exception as error:   # protobuf's, TensorFlow's and the file system's own
        raise UsageError("{} cannot be loaded: {}.".format(path, reason(error))) from None


def _graph_def(path):
    definition = tf.GraphDef()
    if path.endswith(".pb"):
        with open(path, "rb") as stream:
            definition.ParseFromString(stream.read())
        return definition
    with open(path, encoding="utf-8") as stream:
        _tf.text_format.Parse(stream.read(), definition)
    return definition
