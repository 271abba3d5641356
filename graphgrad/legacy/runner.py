"""Run a TensorFlow 1 script, unmodified, on the TensorFlow that is installed.

On TF 2.x the script's ``import tensorflow`` gives the 1.x interface (``tensorflow.compat.v1``) with v2 behaviour
turned off. Code that is installed beside TensorFlow, Keras for one, still gets TensorFlow itself.
Everything happens in this process, nothing is written anywhere, and ``deactivate`` undoes it.
"""
import builtins
import os
import runpy
import sys
import tempfile
import types
import warnings

from ..errors import UsageError
from .shims import SHIMS

_undo = []


def activate():
    """Let what is imported from now on see TensorFlow 1; quiet if it does already."""
    if _undo:
        return
    tensorflow = import_quietly()
    v1 = tensorflow.compat.v1
    verbosity = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)           # a deprecation notice for nearly every name there is
    _undo.append(lambda: v1.logging.set_verbosity(verbosity))
    if not tensorflow.__version__.startswith("1."):
        v1.disable_v2_behavior()                         # stays: TensorFlow has no safe way back in one process
        _alias(tensorflow, v1)
    for shim in SHIMS:
        undo = shim.install()
        if undo is not None:
            _undo.append(undo)


def deactivate():
    """Undo ``activate``, but for v2 behaviour, which TensorFlow cannot turn on again once graphs were built."""
    while _undo:
        _undo.pop()()


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


def _alias(tensorflow, v1):
    """Make ``import tensorflow`` outside of the installed packages give compat.v1 under the name of tensorflow."""
    alias = _LegacyTensorFlow(tensorflow, v1)
    installed = os.path.dirname(os.path.dirname(os.path.abspath(tensorflow.__file__))) + os.sep
    original = builtins.__import__

    def legacy_import(name, globals=None, locals=None, fromlist=(), level=0):
        module = original(name, globals, locals, fromlist, level)
        if level == 0 and module is tensorflow:
            path = (globals or {}).get("__file__") or ""
            if not os.path.abspath(path).startswith(installed):
                return alias
        return module

    builtins.__import__ = legacy_import
    _undo.append(lambda: setattr(builtins, "__import__", original))


class _LegacyTensorFlow(types.ModuleType):
    """compat.v1 as the module ``tensorflow``: with ``python`` and ``compat``, which compat.v1 lacks or has twice."""

    def __init__(self, tensorflow, v1):
        super().__init__("tensorflow", v1.__doc__)
        self.__dict__.update(
            _v1=v1, python=sys.modules["tensorflow.python"], compat=tensorflow.compat, __path__=tensorflow.__path__,
            __file__=tensorflow.__file__, __spec__=tensorflow.__spec__, __version__=tensorflow.__version__)

    def __getattr__(self, name):
        return getattr(self._v1, name)

    def __dir__(self):
        return sorted(set(dir(self._v1)) | set(self.__dict__))


def check_script(path):
    """Raise UsageError, in one sentence, unless ``path`` is a Python script that can be run."""
    if not os.path.exists(path):
        raise UsageError("There is no script {}.".format(path))
    if os.path.isdir(path):
        raise UsageError("{} is a folder, not a script.".format(path))
    with open(path, "rb") as stream:
        source = stream.read()
    if not source.strip():
        raise UsageError("The script {} is empty.".format(path))
    try:
        compile(source, path, "exec")
    except (SyntaxError, ValueError) as error:
        raise UsageError("{} is not a Python 3 script: {} (line {}).".format(
            path, getattr(error, "msg", error), getattr(error, "lineno", "?"))) from None


def run_script(path, arguments=()):
    """Run a script as ``python path arguments`` would, under ``activate``.

    Raises:
        UsageError: the path is no script.
        Whatever the script raises, SystemExit included.
    """
    check_script(path)
    activate()
    argv, path_0 = sys.argv, sys.path[0]
    sys.argv = [path] + list(arguments)
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = argv
        sys.path[0] = path_0
