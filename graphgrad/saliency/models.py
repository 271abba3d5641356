"""Models from files: a frozen graph, a meta graph with its checkpoint, a SavedModel, a Keras file or Keras model.

Each becomes a graph and a Session with its weights in it; what the model is for is found by ``endpoints``.
"""
import os
import warnings
from typing import Any, List, Optional, Sequence, Union

from .. import _tf
from .._tf import tf, v1
from .._types import Graph, Session, Tensor
from ..errors import SaliencyError
from ..graph_defs import nodes_of, reaching_outside, refuse_unbelievable, run_by_loading
from ..reasons import reason
from . import endpoints, keras_files

#: What TensorFlow raises over a file that is damaged, or of another version.
_UNLOADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError, OSError, tf.errors.OpError,
               _tf.DecodeError)
_LOOPS = ("While", "StatelessWhile")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


class Model:
    """A model that can be explained. Made by ``load``; close it, or use it as a ``with`` block.

    Attributes:
        graph: its tf.Graph.
        session: a Session of the graph, with the weights. Where they are constants and the model has a loop of control
            flow v2, a new one after each method that was built: TensorFlow cannot add the gradient of a loop to a
            Session that ran it.
        x: the input tensor, [batch, ...].
        y: the output tensor; the logits where the last operation is a softmax.
        notes: list of sentences about what was chosen or changed while it was loaded.
    """

    def __init__(self, graph: Graph, session: Session, x: Tensor, y: Tensor, notes: List[str],
                 keep_open: bool = False) -> None:
        self.graph = graph
        self.x = x
        self.y = y
        self.notes = notes
        self._sessions = [session]
        self._keep_open = keep_open
        kinds = set(op.type for op in graph.get_operations())
        self._renews = not kinds.isdisjoint(_LOOPS) and kinds.isdisjoint(_VARIABLES)
        self._version = graph.version

    @property
    def session(self) -> Session:
        if self._renews and self._version != self.graph.version:
            self._version = self.graph.version
            self._sessions.append(v1.Session(graph=self.graph))
        return self._sessions[-1]

    def tensor(self, name: str) -> Tensor:
        """A tensor of the graph by name; SaliencyError with close matches if there is none."""
        return endpoints.tensor_named(self.graph, name)

    def close(self) -> None:
        """Close the Session, unless it is Keras's own, of a model that was built in a graph."""
        if not self._keep_open:
            for session in self._sessions:
                session.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self):
        return "Model(x={!r}, y={!r})".format(self.x.name, self.y.name)


def load(model: Any, x: Optional[str] = None, y: Optional[str] = None, checkpoint: Optional[str] = None,
         signature: Optional[str] = None, tags: Union[str, Sequence[str], None] = None) -> Model:
    """Load a model and find its input and output.

    Nothing in a file is executed by loading it, but for the operations that restore its variables and fill its
    tables, which are looked at first, as are those that compute y from x: a file in which one of them writes files,
    calls Python or talks to other processes is refused. So are Keras files with code in them (Lambda layers): if you
    trust one, load it with Keras and give the model.

    Args:
        model: a path: a frozen graph (``.pb``), a meta graph (``.meta``, or the checkpoint's prefix beside it), a
            SavedModel folder, a Keras file (``.h5``, ``.keras``); or a Keras model, whose weights are copied (one that
            was built in a graph, as TF 1 does, is taken where it is, with Keras's Session).
        x: name of the input tensor, where there is more than one.
        y: the same for the output.
        checkpoint: prefix of the checkpoint, if it is not that of the meta graph.
        signature: of a SavedModel; by default "serving_default", or the only one.
        tags: of a SavedModel, a str or a list; by default "serve", or the only ones.

    Returns:
        A Model.

    Raises:
        SaliencyError: it is no model, or one that this TensorFlow cannot load; or there is more than one input or
            output to choose from: the message lists them.
    """
    if callable(model) and not isinstance(model, str):
        return _from_keras_model(model, x, y)
    path = os.fspath(model)
    if os.path.isdir(path):
        return _from_saved_model(path, x, y, signature, tags)
    if path.endswith(".meta") or os.path.isfile(path + ".meta"):
        return _from_meta_graph(path, x, y, checkpoint)
    if not os.path.isfile(path):
        raise SaliencyError("There is no model {}.".format(path))
    if path.endswith((".h5", ".hdf5", ".keras")):
        return _from_keras_file(path, x, y)
    if os.path.basename(path) == "saved_model.pb":
        return _from_saved_model(os.path.dirname(path) or ".", x, y, signature, tags)
    return _from_frozen_graph(path, x, y)


# --- Frozen graphs ----------------------------------------------------------------------------------

def _from_frozen_graph(path, x, y):
    definition = v1.GraphDef()
    if not _read(definition, path) or not definition.node:
        raise SaliencyError("{} is not a frozen graph: a .pb file with a GraphDef in it, the weights as constants. "
                            "Other models end in .meta, .h5 or .keras, or are a SavedModel folder.".format(path))
    variables = [node.name for node in definition.node if node.op in _VARIABLES]
    if variables:
        raise SaliencyError("{} has variables in it ({}), so it is not frozen, and their values are elsewhere: give "
                            "the .meta file beside the checkpoint.".format(path, ", ".join(variables[:3])))
    graph, notes = _import(definition, path)
    found = endpoints.of_graph(graph, x, y)
    _refuse_running(path, definition, found)
    return _finish(graph, v1.Session(graph=graph), found, notes)


def _import(definition, path):
    refuse_unbelievable(path, definition, SaliencyError)
    notes = _drop_foreign_gradients(definition)
    graph = tf.Graph()
    try:
        with graph.as_default():
            v1.import_graph_def(definition, name="")
    except _UNLOADABLE as error:
        raise SaliencyError("TensorFlow {} cannot read the graph of {}: {}.".format(
            tf.__version__, path, reason(error))) from None
    return graph, notes


def _drop_foreign_gradients(definition):
    """Take tags out that mean nothing here, or worse, something else: returns notes.

    A tf.custom_gradient is registered under a number that counts up in its process.
    """
    dropped = {}
    for node in nodes_of(definition):
        if "_gradient_op_type" not in node.attr:
            continue
        name = node.attr["_gradient_op_type"].s.decode("utf-8", "replace")
        if name.startswith("CustomGradient-") or not _tf.is_registered(name):
            del node.attr["_gradient_op_type"]
            kind = "A tf.custom_gradient" if name.startswith("CustomGradient-") else repr(name)
            dropped.setdefault(kind, []).append(node.name)
    return ["{} as the gradient of {} operations ({}) is not in the model: they have the ordinary gradient of what "
            "they compute.".format(kind, len(names), ", ".join(names[:3]) + (", ..." if len(names) > 3 else ""))
            for kind, names in dropped.items()]


# --- Meta graphs with a checkpoint ---------------------------------------------------------------------

def _from_meta_graph(path, x, y, checkpoint):
    prefix = path[:-len(".meta")] if path.endswith(".meta") else path
    checkpoint = checkpoint or prefix
    if not os.path.isfile(prefix + ".meta"):
        raise SaliencyError("There is no model {}.".format(path))
    if not os.path.isfile(checkpoint + ".index") and not os.path.isfile(checkpoint):   # format 2, format 1
        raise SaliencyError("There is no checkpoint {0}: {0}.index and {0}.data-... belong beside {1}, or name "
                            "another one.".format(checkpoint, os.path.basename(prefix) + ".meta"))
    meta = v1.MetaGraphDef()
    if not _read(meta, prefix + ".meta") or not meta.graph_def.node:
        raise SaliencyError("{}.meta is not a meta graph.".format(prefix))
    refuse_unbelievable(prefix + ".meta", meta.graph_def, SaliencyError)
    _refuse_outside(prefix + ".meta", meta.graph_def, [meta.saver_def.restore_op_name])
    notes = _drop_foreign_gradients(meta.graph_def)
    graph = tf.Graph()
    try:
        with graph.as_default():
            saver = v1.train.import_meta_graph(meta, clear_devices=True)
    except _UNLOADABLE as error:
        raise SaliencyError("TensorFlow {} cannot read the graph of {}.meta: {}.".format(
            tf.__version__, prefix, reason(error))) from None
    found = endpoints.of_graph(graph, x, y)
    _refuse_running(path, meta.graph_def, found)
    session = v1.Session(graph=graph)
    try:
        with graph.as_default():
            saver.restore(session, checkpoint)
    except _UNLOADABLE as error:
        session.close()
        raise SaliencyError("The checkpoint {} does not fit its graph: {}.".format(
            checkpoint, reason(error))) from None
    return _finish(graph, session, found, notes)


# --- SavedModels --------------------------------------------------------------------------------------

def _from_saved_model(path, x, y, wanted, tags):
    try:
        metas = _tf.saved_model_contents(path)
    except (OSError, tf.errors.OpError):
        metas = []
    if not metas:
        raise SaliencyError("{} is no SavedModel: there is no saved_model.pb in it that could be read.".format(path))
    meta = _with_tags(path, metas, tags)
    signatures = {name: signature for name, signature in meta.signature_def.items()
                  if not name.startswith("__saved_")}
    key = _signature(path, signatures, wanted)
    refuse_unbelievable(path, meta.graph_def, SaliencyError)
    _refuse_outside(path, meta.graph_def, *run_by_loading(meta))
    if hasattr(meta, "object_graph_def") and meta.object_graph_def.nodes:
        return _from_object_saved_model(path, meta, key, x, y)
    graph = tf.Graph()
    session = v1.Session(graph=graph)
    notes = []
    try:
        with graph.as_default():
            _tf.load_saved_model(session, path, list(meta.meta_info_def.tags),
                                 lambda definition: notes.extend(_drop_foreign_gradients(definition)))
    except _UNLOADABLE as error:
        session.close()
        raise SaliencyError("TensorFlow {} cannot load the SavedModel {}: {}.".format(
            tf.__version__, path, reason(error))) from None
    if key is None:
        found = endpoints.of_graph(graph, x, y)
    else:
        inputs, outputs = [[graph.get_tensor_by_name(info.name) for _, info in sorted(infos.items()) if info.name]
                           for infos in (signatures[key].inputs, signatures[key].outputs)]
        found = endpoints.of_lists(graph, inputs, outputs, x, y)
    _refuse_running(path, meta.graph_def, found)
    return _finish(graph, session, found, notes)


def _with_tags(path, metas, tags):
    wanted = set([tags] if isinstance(tags, str) else tags or ["serve"])
    for meta in metas:
        if set(meta.meta_info_def.tags) == wanted or (tags is None and len(metas) == 1):
            return meta
    raise SaliencyError("The SavedModel {} has no graph with the tags {}; there are {}.".format(
        path, sorted(wanted), "; ".join(str(sorted(meta.meta_info_def.tags)) for meta in metas)))


def _signature(path, signatures, wanted):
    if wanted is None:
        if "serving_default" in signatures:
            return "serving_default"
        if len(signatures) < 2:
            return next(iter(signatures), None)
    elif wanted in signatures:
        return wanted
    raise SaliencyError("The SavedModel {} {}; there are {}.".format(
        path, "has no signature {!r}".format(wanted) if wanted else "has several signatures: choose one",
        ", ".join(sorted(signatures)) or "none"))


def _from_object_saved_model(path, meta, key, x, y):
    with _tf.eager():
        try:
            loaded = tf.compat.v2.saved_model.load(path, tags=list(meta.meta_info_def.tags))
        except _UNLOADABLE as error:
            raise SaliencyError("TensorFlow {} cannot load the SavedModel {}: {}.".format(
                tf.__version__, path, reason(error))) from None
        if key is None:
            raise SaliencyError("The SavedModel {} has no signature, so nothing says what its input is: save it with "
                                "signatures=.".format(path))
        return _from_function(loaded.signatures[key], x, y, path)


# --- Keras models, and traced functions ------------------------------------------------------------------

def _from_keras_file(path, x, y):
    keras_files.check(path)
    with _tf.eager():
        try:
            model = tf.keras.models.load_model(path, compile=False)
        except ImportError:
            raise
        except Exception as error:   # Keras raises of every kind: ValueError, TypeError, OSError, KeyError, its own
            raise SaliencyError("Keras of TensorFlow {} cannot load {}: {}.{}".format(
                tf.__version__, path, reason(error), _keras_hint(path))) from None
        return _from_function(_traced(model), x, y, path)


def _keras_hint(path):
    if path.endswith(".keras"):
        return " A .keras file needs the Keras of TensorFlow 2.12 or later." if _tf.VERSION < (2, 12) else ""
    if _tf.VERSION >= (2, 16):
        return " If it is of Keras 2: install tf_keras and set TF_USE_LEGACY_KERAS=1."
    return ""


def _from_keras_model(model, x, y):
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise SaliencyError("load takes a path or a Keras model that was built, with inputs, but got {!r}.".format(
            model))
    graph = getattr(inputs[0], "graph", None)
    if isinstance(graph, tf.Graph) and not _tf.is_function_body(graph):
        with graph.as_default():
            session = v1.keras.backend.get_session()
        return _finish(graph, session, endpoints.of_lists(graph, model.inputs, model.outputs, x, y), [], keep_open=True)
    if any(_is_symbolic(weight) for weight in model.weights):
        raise SaliencyError("The Keras model was built with eager execution off, where Keras {} gives its weights no "
                            "values: build it with eager execution on.".format(tf.keras.__version__))
    return _from_function(_traced(model), x, y)


def _is_symbolic(weight):
    """Whether a variable of Keras 3 wraps one of a graph, for which there is no Session."""
    handle = getattr(getattr(weight, "value", None), "handle", None)
    return handle is not None and not hasattr(handle, "numpy")


def _traced(model):
    """A Keras model as a function traced for its inputs, in inference mode."""
    inputs = model.inputs
    with _tf.eager():
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=tensor.name.split(":")[0].split("/")[-1])
                 for tensor in inputs]

        def call(*arguments):
            return model(arguments[0] if len(arguments) == 1 else list(arguments), training=False)

        return tf.function(call, autograph=False).get_concrete_function(*specs)


def _from_function(function, x, y, path=None):
    with _tf.eager():
        try:
            frozen = _tf.freeze(function)
        except ValueError as error:    # 1.15, on embeddings
            raise SaliencyError(
                "TensorFlow {} cannot freeze the model: {}. Build it in a tf.Graph, and load takes it with Keras's "
                "Session.".format(tf.__version__, reason(error))) from None
    inputs = [tensor.name for tensor in frozen.inputs]
    outputs = [tensor.name for tensor in frozen.outputs]
    definition = frozen.graph.as_graph_def()
    graph, notes = _import(definition, "the model")
    for name, tensor in zip(inputs, frozen.inputs):
        graph.get_tensor_by_name(name).set_shape(tensor.shape)
    found = endpoints.of_lists(graph, [graph.get_tensor_by_name(name) for name in inputs],
                               [graph.get_tensor_by_name(name) for name in outputs], x, y)
    if path is not None:
        _refuse_running(path, definition, found)
    return _finish(graph, v1.Session(graph=graph), found, notes)


# --- All of them --------------------------------------------------------------------------------------

def _finish(graph, session, found, notes, keep_open=False):
    x, y, more = found
    return Model(graph, session, x, y, notes + more, keep_open)


def _refuse_outside(path, definition, names, functions=()):
    found = reaching_outside(definition, names, functions)
    if found is not None:
        raise SaliencyError(
            "Loading {} would run the operation {!r} (type {}), which reaches outside of TensorFlow: to restore "
            "variables and fill tables needs none of that kind.".format(path, *found))


def _refuse_running(path, definition, found):
    x, y, _ = found
    outside = reaching_outside(definition, [y.name], fed=[x.name])
    if outside is not None:
        raise SaliencyError(
            "Computing {} of {} would run the operation {!r} (type {}), which reaches outside of TensorFlow, and a "
            "file is not trusted with that: if you trust it, import the graph yourself, and give a method its y and "
            "x.".format(y.name, path, *outside))


def _read(message, path):
    """Parse a protobuf message from a file; returns whether it could be."""
    with open(path, "rb") as stream:
        data = stream.read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)    # older protobuf, on data that ends early
        try:
            message.ParseFromString(data)
        except _tf.DecodeError:
            return False
    return True
