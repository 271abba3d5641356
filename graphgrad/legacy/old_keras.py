"""Standalone Keras 1.x and 2.x under ``import keras``: a tree of modules over the Keras 2 that is installed.

Keras 2 is tf_keras, or on TF 2.15 Keras itself, through the 1.x interface of it (``tf.compat.v1.keras``): its LSTM has
Keras 2.2's hard sigmoid, its backend has sessions. Names moved often, so a module below ``keras.layers``,
``keras.engine`` and so on has the names of all of its relatives. Where there is only Keras 3, ``import keras`` is that,
and what it lacks says what to install.
"""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from .catalogue import Gone, Shim, enter, look_up_missing, note

#: The tree's root in sys.modules, beside the real ``keras``, which TensorFlow itself uses.
ROOT = "graphgrad.legacy.keras"
_NOW = "install the package tf_keras, and graphgrad run uses it"
#: Modules of Keras 1 and 2 -> where their names are, under tf.compat.v1.keras, then (a bar) under Keras's own sources.
_HOMES = {
    "": "|", "activations": "activations", "applications": "applications", "callbacks": "callbacks",
    "constraints": "constraints", "datasets": "datasets", "initializers": "initializers",
    "initializations": "initializers", "losses": "losses", "objectives": "losses", "metrics": "metrics",
    "models": "models", "optimizers": "|optimizers.optimizer_v1 |optimizers", "preprocessing": "preprocessing",
    "regularizers": "regularizers", "backend": "backend |backend |backend_config",
    "engine": "layers models  |engine.base_layer |engine.input_spec |engine.training_v1 |engine.training",
    "layers": "layers |layers |activations |backend", "legacy": "layers", "wrappers": "wrappers",
    "utils": "utils |utils.np_utils |utils.conv_utils |utils.data_utils |utils.generic_utils |utils.layer_utils "
             "|utils.vis_utils |utils.io_utils |utils.tf_utils |saving.object_registration",
}
#: Names of Keras 1 that only changed their spelling: module -> {old: now}.
_SPELLINGS = {
    "layers": {"Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
               "AtrousConvolution2D": "Conv2D", "Deconvolution2D": "Conv2DTranspose",
               "SeparableConvolution2D": "SeparableConv2D", "_Conv": "Conv2D"},
    "constraints": {"maxnorm": "max_norm", "nonneg": "non_neg", "unitnorm": "unit_norm"},
    "initializations": {"zero": "zeros", "one": "ones", "uniform": "RandomUniform", "normal": "RandomNormal"},
    "regularizers": {"activity_l1": "l1", "activity_l2": "l2", "activity_l1l2": "l1_l2", "l1l2": "l1_l2",
                     "WeightRegularizer": "L1L2", "ActivityRegularizer": "L1L2"},
}
#: What a program only reaches through a package: keras.utils.np_utils, keras.layers.core.
_MODULES = {
    "engine": "topology training network base_layer input_layer sequential saving", "legacy": "layers interfaces",
    "layers": "core recurrent convolutional normalization embeddings merge pooling advanced_activations wrappers noise "
              "local cudnn_recurrent convolutional_recurrent convolutional_transpose",
    "utils": "np_utils conv_utils data_utils generic_utils layer_utils vis_utils io_utils visualize_util test_utils "
             "multi_gpu_utils training_utils",
    "backend": "tensorflow_backend common load_backend",
}
_GONE = {"models": ("Graph", "model_from_config"), "layers": ("Merge", "Highway", "MaxoutDense", "ParametricSoftplus"),
         "wrappers": ("scikit_learn",), "utils": ("multi_gpu_model", "HDF5Matrix")}
_SESSIONS = ("get_session set_session clear_session learning_phase set_learning_phase image_dim_ordering "
             "set_image_dim_ordering function placeholder gradients variable batch_get_value in_train_phase in_test_phase "
             "set_value get_value tensorflow_backend manual_variable_initialization").split()

for _name in _SESSIONS:
    enter("keras.backend", _name, "Keras 3", _NOW)


def find():
    """("old", package) where a Keras 2 can stand in for old Keras, ("new", "keras") where there is only Keras 3.

    ("none", None) where there is none, or TensorFlow is the old one.
    """
    if sys.modules["tensorflow"].__version__.startswith("1."):
        return "none", None
    if importlib.util.find_spec("tf_keras") is not None:
        return "old", "tf_keras"
    if importlib.util.find_spec("keras") is None:
        return "none", None
    from importlib import metadata   # Python 3.8; TF 2.x has a newer one
    return ("old" if metadata.version("keras").startswith("2.") else "new"), "keras"


class Importer:
    """What ``import keras...`` gives to old code."""

    def __init__(self):
        self.kind, self.package = find()
        self._undo = []
        if self.kind == "old":
            from . import keras_arguments
            finder = _Finder(self.package, importlib.import_module(self.package).__version__)
            sys.meta_path.append(finder)
            self._undo.append(lambda: _take_away(finder))
            self._undo += keras_arguments.install(_source(self.package, ""), finder)

    def undo(self):
        """Take everything away."""
        while self._undo:
            self._undo.pop()()

    def imported(self, name, fromlist, importing):
        """The module for ``import name`` or ``from name import fromlist``; ``importing()`` imports it as it is."""
        if self.kind == "old":
            module = importlib.import_module(ROOT + name[len("keras"):])
            return module if fromlist else sys.modules[ROOT]
        if self.kind == "none":
            return importing()
        try:
            module = importing()
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "keras":
                raise
            raise ModuleNotFoundError("{} is gone since Keras 3, and Keras {} is installed: {}.".format(
                error.name, sys.modules["keras"].__version__, _NOW), name=error.name) from None
        self._know(module)
        return module

    def _know(self, module):
        if self._undo:
            return
        self._undo.append(look_up_missing(importlib.import_module("keras.backend"), "keras.backend"))
        note("The script imports Keras, and Keras {} is installed, which is written for TensorFlow 2 and has neither "
             "sessions nor the names of Keras 1 and 2: {}.".format(sys.modules["keras"].__version__, _NOW))


def _take_away(finder):
    sys.meta_path.remove(finder)
    for name in [name for name in sys.modules if name == ROOT or name.startswith(ROOT + ".")]:
        del sys.modules[name]
    vars(sys.modules["graphgrad.legacy"]).pop("keras", None)


def _source(package, path):
    """A module of Keras's own sources, or None."""
    name = ".".join([package, "src"] + ([path] if path else []))
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _home(package, path):
    """A module by its path: under tf.compat.v1.keras, or, after a bar, under Keras's sources."""
    if path.startswith("|"):
        return _source(package, path[1:]) if path != "|" else importlib.import_module("tensorflow").compat.v1.keras
    module = importlib.import_module("tensorflow").compat.v1.keras
    for part in path.split("."):
        module = getattr(module, part, None)
    return module


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds keras and every module that Keras 1 or 2 had below it."""

    def __init__(self, package, version):
        self.package = package
        self.version = version
        self.own = {}   # module -> {name: value}: filled by keras_arguments

    def find_spec(self, name, path=None, target=None):
        """Be asked for a module below the root."""
        if name != ROOT and not name.startswith(ROOT + "."):
            return None
        parts = name[len(ROOT) + 1:].split(".") if name != ROOT else []
        known = not parts or parts[0] in _HOMES and (
            len(parts) == 1 or parts[1] in _MODULES.get(parts[0], "").split() or parts[0] in (
                "applications", "datasets", "preprocessing"))
        if not known:
            raise ModuleNotFoundError("keras.{} is in no Keras 2, and graphgrad supplies nothing for it.".format(
                ".".join(parts)), name="keras." + ".".join(parts))
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        """A module with the names of its relatives."""
        path = spec.name[len(ROOT) + 1:]
        head = path.partition(".")[0]
        wanted = path if head in ("applications", "datasets", "preprocessing") else _HOMES[head]
        homes = [_home(self.package, word) for word in wanted.split()]
        return _Module(spec.name, path, [home for home in homes if home is not None], self.own.get(head, {}),
                       self.version)

    def exec_module(self, module):
        """Nothing is left to do."""


class _Module(types.ModuleType):
    def __init__(self, name, path, homes, own, version):
        super().__init__(name, "Keras 1 and 2's keras{}.".format("." + path if path else ""))
        self.__dict__.update(_path=path, _head=path.partition(".")[0], _homes=homes, _own=own,
                             _version=version)

    def __getattr__(self, name):
        if name == "__all__":
            return sorted({word for home in self._homes for word in dir(home) if not word.startswith("_")})
        if name == "__version__" and not self._path:
            return self._version
        if name.startswith("__"):
            raise AttributeError(name)
        below = ".".join(filter(None, [self._path, name]))
        if not self._path and name in _HOMES or name in _MODULES.get(self._path, "").split():
            return importlib.import_module("{}.{}".format(ROOT, below))
        if name in self._own:
            return self._own[name]
        wanted = _SPELLINGS.get(self._head, {}).get(name, name)
        for home in self._homes:
            if hasattr(home, wanted):
                return getattr(home, wanted)
        sentence = Shim("keras." + self._path, name, "Keras 2", "graphgrad supplies nothing for it", None)
        if name in _GONE.get(self._head, ()):
            return Gone(sentence)
        raise AttributeError("keras.{} is in no Keras that is installed, and graphgrad supplies nothing for it.".format(
            below))

    def __call__(self, *args, **kwargs):
        """keras.layers.merge, a function in Keras 1 and a module in Keras 2."""
        if self._path != "layers.merge":
            raise TypeError("'module' object is not callable")
        from .keras_arguments import merge
        return merge(self, *args, **kwargs)
