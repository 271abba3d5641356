"""Golden files: tensors kept by name in a file of their own, as tests keep them. The same format as a recording."""
import contextlib
import os
import re
import sys
from typing import Any, Mapping, Optional

import numpy as np

from .._types import ToleranceMap
from ..errors import ResultFileError, UsageError
from .compare import compare
from .memory import InMemory
from .recorder import Recorder
from .recording import load
from .report import Report
from .tolerances import Tolerances

#: Beside a golden file whose check failed: what came instead.
OBTAINED = ".obtained.npz"


def evaluated(tensors):
    """{name: array or None} of arrays, tensors, or lists and dicts of them; tensors are run in the default session.

    Raises:
        UsageError: there are tensors of a graph, and no session is the default.
    """
    named = dict(_leaves(tensors, ""))
    symbolic = {name: value for name, value in named.items() if _is_symbolic(value)}
    if symbolic:
        session = _default_session()
        if session is None:
            raise UsageError("There is no default session to run the tensors of a graph in ({}): check them inside "
                             "'with tf.Session():', or pass what session.run returned.".format(next(iter(symbolic))))
        named.update(session.run(symbolic))
    return {name: value if value is None or hasattr(value, "_fields") else _array(value)
            for name, value in named.items()}


def _leaves(value, prefix):
    if isinstance(value, dict):
        pairs = [(str(key), value[key]) for key in sorted(value, key=str)]
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not _is_numbers(value):
        pairs = [(str(place), item) for place, item in enumerate(value)]
    else:
        return [(prefix or "value", value)]
    return [leaf for key, item in pairs for leaf in _leaves(item, "{}/{}".format(prefix, key) if prefix else key)]


def _is_numbers(value):
    """Whether a list is one array, such as [1.0, 2.0], and not several values."""
    return bool(value) and all(isinstance(item, (bool, int, float, complex, str, bytes)) for item in value)


def _is_symbolic(value):
    return value is not None and hasattr(value, "op") and hasattr(value, "graph") and not _is_eager(value)


def _is_eager(value):
    return hasattr(value, "numpy") and type(value).__name__ == "EagerTensor"


def _array(value):
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _default_session():
    import tensorflow
    return tensorflow.compat.v1.get_default_session()


def place(module_file, name):
    """Where the golden file of a name is: golden/MODULE/NAME.npz beside the test module.

    Raises:
        UsageError: the name is no plain file name.
    """
    if not re.match(r"[A-Za-z0-9_][A-Za-z0-9_.\-\[\]]*$", name):
        raise UsageError("A golden name has letters, digits, _ . - [ ] only; {!r} came.".format(name))
    folder, module = os.path.split(os.path.abspath(module_file))
    return os.path.join(folder, "golden", os.path.splitext(module)[0], name + ".npz")


def check(path, tensors, update="", tolerances=None):
    """Assert that tensors are those of a golden file.

    Args:
        path: the golden file; if it is not there it is written, and the check fails: look at it, then run again.
        tensors: an array, tensor or None, or a list or dict of them; tensors are run in the default session.
        update: "new" to accept what has no file yet, "all" to accept also what differs from its file.
        tolerances: {name, pattern or dtype: (relative, normwise)}, kept in the file.

    Raises:
        AssertionError: they differ, or there was no file; what came is kept beside it as NAME.obtained.npz.
    """
    named = evaluated(tensors)
    shown = os.path.relpath(path)
    if not os.path.exists(path):
        write(path, named, tolerances)
        if not update:
            raise AssertionError("There was no golden file {}: it is written now. Look at what it holds, and run "
                                 "again; --golden-update-new accepts new files at once.".format(shown))
        return
    found = report(path, named, tolerances, shown)
    if found.verdict != "same":
        obtained = os.path.splitext(path)[0] + OBTAINED
        if update == "all":
            write(path, named, tolerances)
            _remove(obtained)
            return
        raise AssertionError("{}\n  what came is in {}; --golden-update accepts it".format(
            found.text(), os.path.relpath(obtained)))


def write(path, named, tolerances=None):
    """Write {name: array or None} as a golden file, arrays of any size whole; ``tolerances`` are kept with it."""
    recorder = Recorder(["golden"], max_bytes=sys.maxsize)
    recorder._record(list(named), {}, list(named.values()))
    recorder.meta.update(complete=True, error=None, tolerances=Tolerances(tolerances).settings)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    recorder.save(path)


def report(path, named, tolerances=None, title=None):
    """Compare {name: array or None} with a golden file; returns a Report. What differs is written beside the file."""
    values = InMemory(Recorder().meta)
    values.add_run(named.items())
    with load(path) as old:
        result = Report(title or os.path.basename(path), compare(values, old, tolerances=tolerances), values, old)
    obtained = os.path.splitext(path)[0] + OBTAINED
    if result.verdict == "same":
        _remove(obtained)    # of a check that failed
    else:
        write(obtained, named, tolerances)
    return result


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def assert_matches(new: Any, old: Any, tolerances: Optional[ToleranceMap] = None,
                   mapping: Optional[Mapping[str, str]] = None) -> None:
    """Assert that results are those of then, at the tolerance of their dtypes.

    That of float32 is ``1e-5 * |old| + 5e-6 * max|old|``, that of float64 ``5e-14 * max|old|``; integers are equal.

    Args:
        new: an array or tensor, a list or dict of them, or the path of a recording.
        old: the same.
        tolerances: {name, pattern or dtype: (relative to each value, relative to the largest)}.
        mapping: {old name: new name}, where names differ.

    Raises:
        AssertionError: they differ; the message says where first, by how much, and why as far as that can be told.
        ResultFileError: a path is no recording.
    """
    sides = [_recording(side) for side in (new, old)]
    try:
        result = compare(*sides, mapping=mapping, tolerances=tolerances)
        found = Report("the results", result, *sides)
        if found.verdict != "same":
            raise AssertionError(found.text())
    finally:
        for side in sides:
            side.close()


def _recording(side):
    if isinstance(side, (str, os.PathLike)):
        if not str(side).endswith(".npz"):
            raise ResultFileError("{} is not the path of a recording, which ends in .npz.".format(side))
        return load(side)
    values = InMemory()
    values.add_run(evaluated(side).items())
    return values
