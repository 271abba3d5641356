"""Let what is imported see TensorFlow 1: switched on, and off again, for this process and its children.

Nothing happens before TensorFlow is imported: ``activate`` hooks the import statement, and the first import of
TensorFlow does the rest, so that a script that needs no TensorFlow pays nothing. On TF 2.x ``import tensorflow`` then
gives the 1.x interface (``tensorflow.compat.v1``) with v2 behaviour turned off; packages that are written for
TensorFlow 2 (Keras, TensorBoard, ...) still get TensorFlow itself.
"""
import builtins
import importlib
import importlib.util
import os
import sys
import tempfile
import types
import warnings

from . import children, modules, old_keras, world
from .catalogue import NOTES, USED, gone_sentence, note

#: Packages installed beside TensorFlow that are written for TensorFlow as it is.
_MODERN = ("tensorflow", "keras", "tf_keras", "tensorboard", "tf_slim", "tensorflow_probability", "tensorflow_hub",
           "tensorflow_datasets", "tensorflow_estimator", "tensorflow_io", "tensorflow_text", "tensorflow_addons",
           "jax", "flax", "torch", "transformers", "google", "graphgrad")

_undo = []
_then = []
_state = {"complete": False, "options": {}}


def activate(tf2_seeds=False, python2=True):
    """Let what is imported from now on see TensorFlow 1; quiet if it does already.

    Args:
        tf2_seeds: True to leave the seeds of random operations as TF 2.x derives them; by default they are
            derived as 1.x did, from the number of operations built so far.
        python2: False to leave Python 2 sources alone; by default they are translated in memory as they are
            imported, and that is said on stderr.
    """
    if _undo:
        return
    _state["options"] = {"tf2_seeds": tf2_seeds, "python2": python2}
    _undo.append(_forget)
    early = "tensorflow" in sys.modules
    _undo.extend(world.install())
    _undo.append(modules.install())
    if python2:
        from . import python2 as translation
        _undo.append(translation.install())
    _undo.append(children.inherit(tf2_seeds, python2))
    _hook_imports()
    if early:
        _tell_early_imports(sys.modules["tensorflow"])
        complete()


def deactivate():
    """Undo ``activate``, but for v2 behaviour, which TensorFlow cannot turn on again once graphs were built."""
    while _undo:
        _undo.pop()()


def when_complete(action):
    """Do something once TensorFlow has been made the old one; at once if it is."""
    if _state["complete"]:
        action()
    else:
        _then.append(action)


def is_active():
    """Whether ``activate`` holds."""
    return bool(_undo)


def _forget():
    _state["complete"] = False
    USED.clear()
    del NOTES[:], _then[:]


def complete():
    """Import TensorFlow and make it the old one: what the first import of it does."""
    if _state["complete"] or not _undo:
        return
    _state["complete"] = True
    with world.environment_set(_undo):
        tensorflow = import_quietly()
    v1 = tensorflow.compat.v1
    verbosity = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)           # a deprecation notice for nearly every name there is
    _undo.append(lambda: v1.logging.set_verbosity(verbosity))
    filters = warnings.filters[:]
    warnings.filterwarnings("ignore", r"`(tf\.layers\.|tf\.nn\.rnn_cell\.|layer\.)", UserWarning)
    _undo.append(lambda: warnings.filters.__setitem__(slice(None), filters))
    from . import overrides, seeds, shims
    if not tensorflow.__version__.startswith("1."):
        v1.disable_v2_behavior()                         # stays: TensorFlow has no safe way back in one process
        _state["alias"] = _LegacyTensorFlow(tensorflow, v1)
        _undo.extend(_one_compat(tensorflow))
    _undo.extend(shims.install(tensorflow))
    _undo.extend(overrides.install())
    if not _state["options"]["tf2_seeds"] and not tensorflow.__version__.startswith("1."):
        _undo.extend(seeds.install())
    while _then:
        _then.pop(0)()


def _one_compat(tensorflow):
    """Let ``import tensorflow.compat.v1`` be the module that tf.compat.v1 is; returns functions that undo it.

    TensorFlow makes it another module, whose first import puts new objects in place of some of ours (nn.rnn_cell).
    """
    undo = []
    for name, module in (("tensorflow.compat", tensorflow.compat), ("tensorflow.compat.v1", tensorflow.compat.v1)):
        before = sys.modules.get(name)
        sys.modules[name] = module
        undo.append(lambda name=name, before=before: sys.modules.pop(name) if before is None
                    else sys.modules.__setitem__(name, before))
    return undo


def import_quietly():
    """Import TensorFlow without its start-up notices, of which 2.21 writes some whatever the log level."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    with tempfile.TemporaryFile() as notices, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stderr = os.dup(2)
        os.dup2(notices.fileno(), 2)
        failed = True
        try:
            import tensorflow
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            if failed:
                notices.seek(0)
                os.write(2, notices.read())
    return tensorflow


def _tell_early_imports(tensorflow):
    holders = sorted(name for name, module in list(sys.modules.items())
                     if isinstance(module, types.ModuleType) and not _is_modern(vars(module))
                     and any(value is tensorflow for value in list(vars(module).values())))
    if holders and not tensorflow.__version__.startswith("1."):
        note("TensorFlow was imported before graphgrad.legacy.activate(), so {} still {} TensorFlow 2: make activate() "
             "the first line.".format(", ".join(holders), "sees" if len(holders) == 1 else "see"), warn=True)


# --- The import statement ------------------------------------------------------------------------------

def _hook_imports():
    original_import, original_module = builtins.__import__, importlib.import_module

    def legacy_import(name, globals=None, locals=None, fromlist=(), level=0):
        if level != 0 or not (name.startswith(("tensorflow", "keras")) or name in world.PATCHED):
            return original_import(name, globals, locals, fromlist, level)
        top = name.partition(".")[0]
        if top == "keras" and not _is_modern(globals or {}):
            return _keras().imported(name, fromlist, lambda: original_import(name, globals, locals, fromlist, level))
        if top == "tensorflow":
            _complete_unless_loading()
        try:
            module = original_import(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            world.explain_missing(name, error)
            raise
        world.patch_late(name)
        return _for_importer(module, globals or {})

    def import_module(name, package=None):
        top = name.partition(".")[0]
        if top == "keras" and not _is_modern(sys._getframe(1).f_globals):
            return _keras().imported(name, True, lambda: original_module(name, package))
        if top == "tensorflow":
            _complete_unless_loading()
        module = original_module(name, package)
        world.patch_late(name)
        return _for_importer(module, sys._getframe(1).f_globals)

    builtins.__import__, importlib.import_module = legacy_import, import_module
    _undo.append(lambda: (setattr(builtins, "__import__", original_import),
                          setattr(importlib, "import_module", original_module)))


def _complete_unless_loading():
    if not _state["complete"]:
        complete()


def _keras():
    """What ``import keras`` is for old code, which imports TensorFlow too."""
    _complete_unless_loading()
    if "keras" not in _state:
        importer = _state["keras"] = old_keras.Importer()
        _undo.append(lambda: (_state.pop("keras", None), importer.undo()))
    return _state["keras"]


def _for_importer(module, importer):
    """The alias instead of TensorFlow, unless it is a package written for TensorFlow 2 that asks."""
    if module is sys.modules.get("tensorflow") and "alias" in _state and _undo and not _is_modern(importer):
        return _state["alias"]
    return module


def _is_modern(namespace):
    name = namespace.get("__name__") or ""
    if name.partition(".")[0] not in _MODERN:
        return False
    path = namespace.get("__file__") or ""
    return name.startswith("graphgrad") or not path or path.startswith(_installed())


def _installed():
    if "installed" not in _state:
        home = os.path.dirname(os.path.abspath(importlib.util.find_spec("tensorflow").origin))
        _state["installed"] = os.path.dirname(home) + os.sep
    return _state["installed"]


class _LegacyTensorFlow(types.ModuleType):
    """compat.v1 as the module ``tensorflow``: with ``python`` and ``compat``, which compat.v1 lacks or has twice.

    What is set on it is set on compat.v1, and names are looked up there, so that ``tf`` and ``tf.compat.v1`` agree.
    """

    def __init__(self, tensorflow, v1):
        super().__init__("tensorflow", v1.__doc__)
        self.__dict__.update(
            _v1=v1, python=sys.modules["tensorflow.python"], compat=tensorflow.compat, __path__=tensorflow.__path__,
            __file__=tensorflow.__file__, __spec__=tensorflow.__spec__, __version__=tensorflow.__version__)

    def __getattr__(self, name):
        try:
            return getattr(self._v1, name)
        except AttributeError as error:
            if name.startswith("__"):
                raise
            raise AttributeError(gone_sentence("tensorflow", name) or "{} {}".format(
                error, "(graphgrad knows no replacement for tf.{} either.)".format(name))) from None

    def __setattr__(self, name, value):
        setattr(self._v1, name, value)

    def __delattr__(self, name):
        delattr(self._v1, name)

    def __dir__(self):
        return sorted(set(dir(self._v1)) | set(self.__dict__))
