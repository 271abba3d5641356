"""Operations of one's own in C++: a library built with the installed TensorFlow's flags, and loaded with gradients."""
import os
import shutil
import subprocess
import tempfile
from typing import Any, Optional

from . import _tf
from ._tf import tf
from ._types import Gradients
from .errors import OpLibraryError
from .registry import gradients as registry


def load_op_library(path: str, gradients: Optional[Gradients] = None) -> Any:
    """Load a library of C++ operations, as ``tf.load_op_library`` does, and give them their gradients.

    Args:
        path: path of the shared library (``.so``).
        gradients: dict from the library's op types to their gradient: a function ``fn(op, *grads)``, checked as in an
            override, or None for tf.NotDifferentiable.

    Returns:
        A module with one Python function per operation, ``library.cube(x)`` for ``Cube``. Loading it again, with the
        same gradients, is quiet.

    Raises:
        OpLibraryError: there is no such file, it is no library, or it was built for another TensorFlow.
        RegistrationError: an op type has another gradient already.
    """
    if not os.path.isfile(path):
        raise OpLibraryError("There is no op library {0}; build it: graphgrad build SOURCE.cc -o {0}".format(path))
    try:
        library = tf.load_op_library(os.path.abspath(path))
    except tf.errors.OpError as error:
        raise OpLibraryError(
            "{0} cannot be loaded by TensorFlow {1}: it was built for another version, or is no op library ({2}). "
            "Build it again: graphgrad build SOURCE.cc -o {0}".format(
                path, tf.__version__, error.message.strip().split("\n")[0])) from None
    types = _op_types(library)
    for op_type, gradient in (gradients or {}).items():
        if op_type not in types:
            raise OpLibraryError("{} has no operation {!r}; it has {}.".format(path, op_type, ", ".join(sorted(types))))
        if gradient is not None:
            registry.register(gradient, op_type)
        elif op_type not in _tf.registered_names():
            tf.no_gradient(op_type)
    return library


def build_op_library(source: str, output: Optional[str] = None) -> str:
    """Compile a C++ source of operations into a library for the installed TensorFlow.

    Args:
        source: path of the ``.cc`` file.
        output: path to write; by default beside the source, with the ending ``.so``. Replaced whole, or not at all.

    Returns:
        The path written.

    Raises:
        OpLibraryError: no source, no compiler (``$CXX``, else c++, g++ or clang++), or it does not compile.
    """
    if not os.path.isfile(source):
        raise OpLibraryError("There is no source {}.".format(source))
    output = output or os.path.splitext(source)[0] + ".so"
    compiler = os.environ.get("CXX") or next((c for c in ("c++", "g++", "clang++") if shutil.which(c)), None)
    if compiler is None or shutil.which(compiler) is None:
        raise OpLibraryError("There is no C++ compiler{}: install g++, or set CXX to one.".format(
            " {}".format(compiler) if compiler else ""))
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise OpLibraryError("The folder of {} is not there or not writable.".format(output))
    with tempfile.TemporaryDirectory(prefix=".op-library-", dir=folder) as temporary:
        built = os.path.join(temporary, "library.so")
        # TF 1.15 does not name the standard that its headers are written in.
        standard = ["-std=c++11"] if _tf.VERSION < (2, 0) else []
        command = ([compiler, "-shared", "-fPIC", "-O2", source, "-o", built] + standard
                   + tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags())
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        if process.returncode != 0:
            lines = [line for line in process.stdout.splitlines() if "error:" in line] or process.stdout.splitlines()
            raise OpLibraryError("{} does not compile for TensorFlow {}: {}".format(
                source, tf.__version__, lines[0].strip() if lines else "the compiler failed"))
        os.replace(built, output)
    return output


def _op_types(library):
    """The op types that a module made by tf.load_op_library wraps: a function ``my_cube`` for each ``MyCube``."""
    functions = set(name.replace("_", "") for name in dir(library) if name[:1].islower())
    return set(name for name in dir(library) if name.lower() in functions and _tf.is_op_type(name))
