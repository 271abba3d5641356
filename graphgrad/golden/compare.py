"""Compare two recordings, with numpy alone; a result file is data, and nothing in it is ever executed."""
import json
import os
import zipfile

import numpy as np

from ..errors import ResultFileError

FORMAT = 1

#: Per dtype: relative to each value, and relative to the largest absolute value of the old tensor. The float32
#: pair passed all of 42 honest ports from TF 1.15 to 2.21, the float64 pair is ten times the worst seen there;
#: the narrow ones are four units of rounding, as one operation in them rounds by half a unit.
TOLERANCES = {
    "float16": (4 * 2.0 ** -10, 4 * 2.0 ** -10),
    "bfloat16": (4 * 2.0 ** -7, 4 * 2.0 ** -7),
    "float32": (1e-5, 5e-6),
    "float64": (0.0, 5e-14),
    "complex64": (1e-5, 5e-6),
    "complex128": (0.0, 5e-14),
}


class Recording:
    """What one file holds: ``meta`` (dict), ``runs`` (list of dicts) and the arrays by their keys."""

    def __init__(self, path, meta, archive):
        self.path = path
        self.meta = meta
        self.runs = meta["runs"]
        self._archive = archive

    def array(self, key):
        """Read one array."""
        try:
            return self._archive[key]
        except (KeyError, ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
            raise ResultFileError("{}: the array {!r} cannot be read ({}): the file is damaged.".format(
                self.path, key, error)) from None


def load(path):
    """Open a recording.

    Returns:
        A Recording; its arrays are read when they are asked for.

    Raises:
        ResultFileError: no such file, truncated, not a recording, pickled, or of a newer format.
    """
    if not os.path.isfile(path):
        raise ResultFileError("There is no result file {}.".format(path))
    try:
        if not zipfile.is_zipfile(path):   # np.load would leave such a file open, or take it for a pickle
            raise ValueError("no whole .npz archive")
        archive = np.load(path, allow_pickle=False)
        if "graphgrad" not in archive.files:
            raise ResultFileError(
                "{} is an .npz, but not a recording of graphgrad: it has no entry 'graphgrad'.".format(path))
        meta = json.loads(archive["graphgrad"].tobytes().decode("utf-8"))
    except (ValueError, OSError, zipfile.BadZipFile, EOFError, KeyError) as error:
        if isinstance(error, ResultFileError):
            raise
        raise ResultFileError("{} cannot be read as a recording: it is truncated, or another kind of file ({}).".format(
            path, str(error).split("\n")[0])) from None
    if not isinstance(meta, dict) or not isinstance(meta.get("runs"), list) or not isinstance(meta.get("format"), int):
        raise ResultFileError("{} is not a recording of graphgrad: its description is of another kind.".format(path))
    if meta["format"] > FORMAT:
        raise ResultFileError(
            "{} is a recording of format {}, and this graphgrad reads up to {}: update graphgrad.".format(
                path, meta["format"], FORMAT))
    return Recording(path, meta, archive)


class Difference:
    """One thing that differs: ``where`` ("run 3, relu:0"), ``kind`` ("values", "dtype", ...) and ``text``."""

    def __init__(self, where, kind, text):
        self.where = where
        self.kind = kind
        self.text = text

    def __str__(self):
        return "{}: {}".format(self.where, self.text)


class Comparison:
    """The outcome of comparing a new recording with an old one.

    Attributes:
        differences: Differences in the order of the runs; the first is where the two part.
        notes: str, what is no difference but worth knowing (names that changed).
        compared: how many tensors were.
        worst: the largest difference as a multiple of what is allowed; 0 for bit for bit the same.
        worst_where: where that is.
        same: whether nothing differs.
    """

    def __init__(self):
        self.differences = []
        self.notes = []
        self.compared = 0
        self.worst = 0.0
        self.worst_where = None
        self.largest = 0.0

    @property
    def same(self):
        """Whether nothing differs, and something was compared."""
        return not self.differences

    def add(self, where, kind, text):
        """Note a difference."""
        self.differences.append(Difference(where, kind, text))


def compare(new, old):
    """Compare two Recordings: runs, fetches, feeds, dtypes, shapes, NaN and infinities, values, in that order.

    Fetches are matched by their place; other names at the same place are noted, not counted as a difference.
    """
    result = Comparison()
    for recording, which in ((new, "new"), (old, "old")):
        if not recording.meta.get("complete"):
            result.add("{} recording".format(which), "incomplete", "it is incomplete ({})".format(
                recording.meta.get("error")))
    if not old.runs:
        result.add("old recording", "empty", "it holds no Session.run at all, so there is nothing to compare")
    if len(new.runs) != len(old.runs):
        result.add("session runs", "runs", "{} now, {} in the old recording".format(len(new.runs), len(old.runs)))
    renamed = 0
    for number, (new_run, old_run) in enumerate(zip(new.runs, old.runs)):
        where = "run {}".format(number)
        if len(new_run["fetches"]) != len(old_run["fetches"]):
            result.add(where, "fetches", "{} tensors fetched now, {} then".format(
                len(new_run["fetches"]), len(old_run["fetches"])))
            continue
        if _feeds_differ(result, where, new, new_run, old, old_run):
            continue
        for new_entry, old_entry in zip(new_run["fetches"], old_run["fetches"]):
            renamed += new_entry["name"] != old_entry["name"]
            _compare_entry(result, "{}, {}".format(where, old_entry["name"]), new, new_entry, old, old_entry)
    if renamed:
        result.notes.append("{} fetches have another name than then".format(renamed))
    return result


def _feeds_differ(result, where, new, new_run, old, old_run):
    inputs = Comparison()
    if len(new_run["feeds"]) != len(old_run["feeds"]):
        inputs.add(where, "feeds", "")
    for new_entry, old_entry in zip(new_run["feeds"], old_run["feeds"]):
        _compare_entry(inputs, where, new, new_entry, old, old_entry)
    if inputs.differences:
        result.add(where, "feeds", "the inputs that were fed differ, so the results cannot be compared")
    return bool(inputs.differences)


def _compare_entry(result, where, new, new_entry, old, old_entry):
    result.compared += 1
    if new_entry["kind"] != old_entry["kind"]:
        result.add(where, "kind", "{} now, {} then".format(new_entry["kind"], old_entry["kind"]))
    elif old_entry["kind"] == "none":
        result.compared -= 1   # an operation: nothing to compare
    elif "parts" in old_entry:
        result.compared -= 1
        for new_part, old_part in zip(new_entry["parts"], old_entry["parts"]):
            _compare_entry(result, "{}.{}".format(where, old_part["name"]), new, new_part, old, old_part)
    elif new_entry["dtype"] != old_entry["dtype"]:
        result.add(where, "dtype", "dtype {} now, {} then".format(new_entry["dtype"], old_entry["dtype"]))
    elif list(new_entry["shape"]) != list(old_entry["shape"]):
        result.add(where, "shape", "shape {} now, {} then".format(new_entry["shape"], old_entry["shape"]))
    elif old_entry["kind"] == "strings":
        if new_entry["values"] != old_entry["values"]:
            result.add(where, "values", "other strings than then")
    else:
        compare_arrays(result, where, new.array(new_entry["key"]), old.array(old_entry["key"]), old_entry["dtype"])


def compare_arrays(result, where, new, old, dtype):
    """Compare two arrays of one shape and the dtype of that name, at its tolerance; integers and booleans exactly."""
    if old.size == 0:
        return
    if dtype not in TOLERANCES:
        wrong = new != old
        if wrong.any():
            _add_values(result, where, new, old, wrong, np.zeros(old.shape))
        return
    if old.dtype.kind == "c":
        wide = np.complex128
    else:
        wide = np.float64
    odd = ~np.isfinite(old) | ~np.isfinite(new)
    same_odd = (np.isnan(old) & np.isnan(new)) | (new == old)
    if (odd & ~same_odd).any():
        index = tuple(int(i) for i in np.argwhere(odd & ~same_odd)[0])
        result.add(where, "non-finite", "at {} it is {} now, {} then".format(list(index), new[index], old[index]))
        return
    finite = ~odd
    relative, normwise = TOLERANCES[dtype]
    size = np.abs(np.where(finite, old, 0).astype(wide))
    allowed = relative * size + normwise * size.max()
    error = np.abs(np.where(finite, new, 0).astype(wide) - np.where(finite, old, 0).astype(wide))
    result.largest = max(result.largest, float(error.max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / allowed)   # an error where nothing is allowed: infinite
    if ratio.max() > result.worst or result.worst_where is None:
        result.worst, result.worst_where = float(ratio.max()), where
    if (ratio > 1).any():
        _add_values(result, where, new, old, ratio > 1, allowed, ratio)


def _add_values(result, where, new, old, wrong, allowed, ratio=None):
    index = np.unravel_index(int(np.argmax(wrong if ratio is None else ratio)), old.shape)
    at = "at {} ".format([int(i) for i in index]) if index else ""
    result.add(where, "values", "{} of {} values differ; {}it is {!r} now, {!r} then, with {:.3g} allowed".format(
        int(wrong.sum()), old.size, at, new[index].item(), old[index].item(), float(allowed[index])))
    if ratio is None:
        result.worst, result.worst_where = float("inf"), where
