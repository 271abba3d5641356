"""Modules that are gone: found, when nothing else finds them, by an import hook that comes last."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from .catalogue import USED, Gone, Shim, enter

#: old module -> (gone since, what to write today, module that has its names)
_RENAMED = {
    "cPickle": ("Python 3.0", "pickle"), "ConfigParser": ("Python 3.0", "configparser"),
    "Queue": ("Python 3.0", "queue"), "urllib2": ("Python 3.0", "urllib.request"),
    "urlparse": ("Python 3.0", "urllib.parse"), "StringIO": ("Python 3.0", "io"), "cStringIO": ("Python 3.0", "io"),
    "commands": ("Python 3.0", "subprocess"), "__builtin__": ("Python 3.0", "builtins"),
    "Tkinter": ("Python 3.0", "tkinter"), "thread": ("Python 3.0", "_thread"), "httplib": ("Python 3.0", "http.client"),
    "HTMLParser": ("Python 3.0", "html.parser"), "copy_reg": ("Python 3.0", "copyreg"),
    "xmlrpclib": ("Python 3.0", "xmlrpc.client"), "SocketServer": ("Python 3.0", "socketserver"),
    "pkg_resources": ("setuptools 82", "importlib.metadata and importlib.resources", "graphgrad.legacy.packaging"),
    "imp": ("Python 3.12", "importlib", "graphgrad.legacy.packaging"),
    "distutils": ("Python 3.12", "setuptools", "graphgrad.legacy.packaging"),
    "distutils.version": ("Python 3.12", "packaging.version", "graphgrad.legacy.packaging"),
    "distutils.util": ("Python 3.12", "your own", "graphgrad.legacy.packaging"),
    "distutils.dir_util": ("Python 3.12", "os.makedirs", "graphgrad.legacy.packaging"),
    "scipy.misc": ("SciPy 1.12", "PIL or imageio", "graphgrad.legacy.images"),
    "tensorflow.python.ops.rnn_cell": ("TF 2.0", "tf.compat.v1.nn.rnn_cell", "tensorflow.python.ops.rnn_cell_impl"),
    "tensorflow.python.ops.seq2seq": ("TF 1.0", "tf.contrib.seq2seq", "graphgrad.legacy.contrib.seq2seq"),
    "tensorflow.models": ("TF 1.0", "tf.nn.rnn_cell", "graphgrad.legacy.contrib.rnn"),
    "tensorflow.models.rnn": ("TF 1.0", "tf.nn.rnn_cell", "graphgrad.legacy.contrib.rnn"),
    "tensorflow.models.rnn.rnn": ("TF 1.0", "tf.nn.dynamic_rnn and its like", "graphgrad.legacy.contrib.rnn"),
    "tensorflow.models.rnn.rnn_cell": ("TF 1.0", "tf.nn.rnn_cell", "graphgrad.legacy.contrib.rnn"),
    "tensorflow.models.rnn.linear": ("TF 1.0", "tf.layers.dense", "graphgrad.legacy.contrib.rnn"),
    "tensorflow.models.rnn.seq2seq": ("TF 1.0", "tf.contrib.legacy_seq2seq", "graphgrad.legacy.contrib.seq2seq"),
    "tensorflow.python.ops.constant_op": ("TF 1.0", "tf.constant", "tensorflow.python.framework.constant_op"),
    "tensorflow.python.ops.common_shapes": (
        "TF 1.0", "nothing: shapes come from C++", "tensorflow.python.framework.common_shapes"),
    "tensorflow.python.functional_ops": ("TF 1.0", "tf.map_fn", "tensorflow.python.ops.functional_ops"),
    "tensorflow.python.platform.googletest": ("TF 2.0", "tf.test", "tensorflow.python.platform.test"),
    "tensorflow.python.training.training_ops": ("TF 2.16", "tf.raw_ops", "tensorflow.python.ops.gen_training_ops"),
    "tensorflow.python.pywrap_tensorflow": ("TF 2.16", "tf.train.NewCheckpointReader",
                                            "graphgrad.legacy.contrib.framework"),
    "tensorflow.examples.tutorials.mnist.input_data": (
        "TF 2.0", "your own reader", "graphgrad.legacy.contrib.mnist"),
    "tensorflow.examples.tutorials.mnist": ("TF 2.0", "your own reader", "graphgrad.legacy.contrib.mnist"),
    "tensorflow.examples.tutorials": ("TF 2.0", "your own reader", "graphgrad.legacy.contrib.mnist"),
    "tensorflow.examples": ("TF 2.0", "your own reader", "graphgrad.legacy.contrib.mnist"),
}
_CONTRIB_GONE = "TF 2.0"
#: Parts of paths below tf.contrib: tf.contrib.layers.python.layers.layers has the names of tf.contrib.layers.
_COMPONENTS = ("python", "layers", "ops", "core", "framework", "training", "util")
#: the parts of tf.contrib that are supplied -> (package that carries them when installed, module that does else)
_CONTRIB = {
    "slim": ("tf_slim", "layers"), "layers": ("tf_slim.layers", "layers"), "rnn": (None, "rnn"),
    "framework": (None, "framework"), "training": (None, "training"), "eager": (None, "eager"),
    "graph_editor": (None, "graph_editor"), "data": (None, "data"), "seq2seq": (None, "seq2seq"),
    "legacy_seq2seq": (None, "seq2seq"), "losses": (None, "losses"), "metrics": (None, "metrics"),
    "util": (None, "util"), "image": (None, "image"), "learn": (None, "learn"), "lookup": (None, "lookup"),
    "staging": (None, "staging"),
    "distributions": ("tensorflow_probability.python.distributions", "distributions"),
}


def install():
    """Add the finder; returns a function that takes it, and what it made, away."""
    finder = _Finder()
    sys.meta_path.append(finder)

    def undo():
        sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                vars(sys.modules[parent]).pop(child, None)

    return undo


def _import(name):
    return lambda: importlib.import_module(name)


enter("tensorflow", "contrib", _CONTRIB_GONE, "what each part of it has become", _import("tensorflow.contrib"))
enter("tensorflow", "examples", _CONTRIB_GONE, "your own reader", _import("tensorflow.examples"))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of this page. It comes last, so that what is installed wins."""

    def __init__(self):
        self.made = []

    def find_spec(self, name, path=None, target=None):
        """Be asked for a module that nobody has."""
        head, _, rest = name.partition(".")
        if head == "tensorflow" and getattr(sys.modules[head], "__version__", "1.").startswith("1."):
            return None   # the old TensorFlow itself, or one that is being imported
        if (rest + ".").startswith("contrib.") and head == "tensorflow" or name in _RENAMED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """Make the module: the names of another one, or of the part of contrib that it is in."""
        name = spec.name
        if name.startswith("tensorflow.contrib"):
            module = _contrib_module(name)
        else:
            gone, now, *home = _RENAMED[name]
            entry = Shim(name.rpartition(".")[0] or "import", name.rpartition(".")[2], gone, now, None)
            module = _Supplied(name, home[0] if home else now, entry)
            USED[name] = entry
        self.made.append(name)
        return module

    def exec_module(self, module):
        """Nothing is left to do."""


class _Supplied(types.ModuleType):
    """A module whose names are those of ``home``; what is not there is gone."""

    def __init__(self, name, home, entry):
        super().__init__(name, "What graphgrad supplies for {}.".format(name))
        self.__dict__.update(_home=home, _entry=entry)

    def __getattr__(self, name):
        if name.startswith("__") or self._home is None:
            raise AttributeError(name)
        full = "{}.{}".format(self.__name__, name)
        if full in sys.modules:
            return sys.modules[full]
        value = getattr(importlib.import_module(self._home), name, None)
        if value is None and full.startswith("tensorflow.contrib.") and name in _COMPONENTS:
            return importlib.import_module(full)
        if value is None:
            if ".python." in full and name.islower():   # contrib's sources: a module of them, it seems
                return importlib.import_module(full)
            return Gone(Shim(self.__name__, name, self._entry.gone, self._entry.now, None))
        return value

    def __call__(self, *args, **kwargs):
        """A name of contrib's sources that was taken for a module."""
        parent, _, name = self.__name__.rpartition(".")
        Gone(Shim(parent, name, self._entry.gone, self._entry.now, None))()


def _contrib_module(name):
    parts = name.split(".")
    if len(parts) == 2:
        return _Contrib(name)
    part = parts[2]
    if part not in _CONTRIB:
        entry = Shim("tf.contrib", part, _CONTRIB_GONE, "graphgrad does not supply it; look for its successor, or "
                     "copy what you need of it from TensorFlow 1.15", None)
        return _Supplied(name, "graphgrad.legacy.contrib", entry)
    package, home = _CONTRIB[part]
    home = "graphgrad.legacy.contrib." + home
    if package is not None and importlib.util.find_spec(package.partition(".")[0]) is not None:
        try:
            home = importlib.import_module(package).__name__
            below = [word for word in parts[3:] if word not in ("python", part)]
            home = importlib.import_module(".".join([package] + below)).__name__   # slim.nets.vgg
        except Exception:   # an old tf_slim on a new TensorFlow fails in many ways: ours then
            pass
    entry = Shim("tf.contrib", part, _CONTRIB_GONE, home, None)
    USED["tf.contrib." + part] = entry
    gone = Shim("tf.contrib", part, _CONTRIB_GONE, "graphgrad does not supply this part of it; {}write it with "
                "tensorflow's own operations".format("" if package is None else "install {}, or ".format(
                    package.partition(".")[0])), None)
    return _Supplied(name, home, gone)


class _Contrib(types.ModuleType):
    """tf.contrib: each part of it is imported when it is asked for."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return importlib.import_module("{}.{}".format(self.__name__, name))
