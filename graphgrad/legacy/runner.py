"""Run a TensorFlow 1 script, module or notebook, unmodified, as ``python`` would, under ``activate``."""
import builtins
import importlib.machinery
import importlib.util
import os
import sys
import types

from ..errors import UsageError
from . import notebooks, python2
from .activation import activate, import_quietly

__all__ = ["activate", "check_script", "import_quietly", "run_module", "run_script"]


def check_script(path, translate=True):
    """Raise UsageError, in one sentence, unless ``path`` is a Python script or notebook that can be run.

    Returns:
        The compiled code. Python 2 is translated, if ``translate``.
    """
    if not os.path.exists(path):
        raise UsageError("There is no script {}.".format(path))
    if os.path.isdir(path):
        raise UsageError("{} is a folder, not a script.".format(path))
    with open(path, "rb") as stream:
        source = stream.read()
    if not source.strip():
        raise UsageError("The script {} is empty.".format(path))
    if path.endswith(".ipynb"):
        source = notebooks.source_of(source, path).encode("utf-8")
    if translate and python2.is_python2(source):
        return python2.compile_python2(source, path)
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        sentence = "{} is not a Python 3 script: {} (line {}).".format(
            path, getattr(error, "msg", error), getattr(error, "lineno", "?"))
    except (RecursionError, MemoryError):   # what Python's parser raises depends on its version
        raise UsageError("The script {} is nested too deeply for Python to read.".format(path)) from None
    if not translate:
        raise UsageError(sentence)
    try:
        return python2.compile_python2(source, path)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:
        raise UsageError("{} Nor is it Python 2: {} (line {}).".format(
            sentence, getattr(error, "msg", error), getattr(error, "lineno", "?"))) from None


def run_script(path, arguments=(), keep=False, translate=True):
    """Run a script as ``python path arguments`` would, under ``activate``.

    Args:
        path: a .py file, of Python 3 or 2, or a notebook (.ipynb).
        arguments: list of str, the script's own.
        keep: True to leave ``__main__``, sys.argv and sys.path as the script had them, as at the end of a process.
        translate: False to refuse Python 2.

    Raises:
        UsageError: the path is no script.
        Whatever the script raises, SystemExit included.
    """
    code = check_script(path, translate)
    activate(python2=translate)
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    _run(code, [path] + list(arguments), os.path.dirname(os.path.abspath(path)), keep,
         __file__=path, __loader__=loader, __package__=None, __spec__=None, __cached__=None)


def run_module(name, arguments=(), keep=False, translate=True):
    """Run a module as ``python -m name arguments`` would, under ``activate``; a package by its ``__main__``.

    Args:
        name: the module's, as in an import.
        arguments: list of str, its own.
        keep: as of run_script.
        translate: as of run_script.

    Raises:
        UsageError: there is no such module, or it has no source.
        Whatever the module raises, SystemExit included.
    """
    activate(python2=translate)
    here, first = os.getcwd(), sys.path[0] if sys.path else None
    if first != here:
        sys.path.insert(0, here)
    try:
        spec = _find(name)
        if spec.submodule_search_locations is not None:
            spec = _find(name + ".__main__")
        code = spec.loader.get_code(spec.name)
    except BaseException:
        if first != here:
            sys.path.remove(here)
        raise
    if code is None:
        raise UsageError("The module {} has no Python source to run.".format(name))
    _run(code, [spec.origin] + list(arguments), None, keep, __file__=spec.origin, __loader__=spec.loader,
         __package__=spec.parent, __spec__=spec, __cached__=spec.cached)
    if not keep and first != here and here in sys.path:
        sys.path.remove(here)


def _find(name):
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError("There is no module {} to run: {}.".format(name, error)) from None
    if spec is None or spec.loader is None and spec.submodule_search_locations is None:
        raise UsageError("There is no module {} to run; it was looked for in {} and on sys.path.".format(
            name, os.getcwd()))
    return spec


def _run(code, argv, folder, keep, **names):
    main = types.ModuleType("__main__")
    main.__dict__.update(names, __builtins__=builtins)
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = argv
    if folder is not None:
        # Where python has the script's folder, our own command has the folder it lies in, if any.
        if sys.path:
            sys.path[0] = folder
        else:
            sys.path.append(folder)
    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
    finally:
        if not keep:
            sys.argv, sys.path[:], sys.modules["__main__"] = before
