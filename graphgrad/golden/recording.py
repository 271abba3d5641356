"""Read a recording, with numpy alone; a result file is data, and nothing in it is ever executed."""
import os
import struct
import zipfile
from typing import Any, Dict, List

from ..errors import ResultFileError
from ..untrusted import UNREADABLE, entry_size, parse_json, read_array
from .description import as_declared, declared_arrays, well_formed
from .recorder import FORMAT

_UNREADABLE = UNREADABLE + (struct.error,)
#: JSON takes some twenty times its size as Python's objects: what any file may unfold to, and how many times its size.
_TEXT, _MOST_TEXT = 1 << 24, 32


class Recording:
    """What one file holds.

    Attributes:
        path: where it was read.
        meta: dict, how it was made and what was built.
        runs: list of {"fetches": entries, "feeds": entries}, one for each Session.run in order. An entry is a dict with
            "name", "kind" ("array", "none", "strings", "sampled", or the type of a value with "parts") and, where there
            is an array, "dtype", "shape" and "key".
        variables: list of {"session", "name", "initial": entry, "final": entry or missing}.
        seeds: list of (name scope, seed asked for, seed, seed2), in the order of construction; None if not recorded.
        graphs: list of dicts: "nodes" (name, type, places of the inputs), "random", "tags", "forward", "histogram".
    """

    def __init__(self, path: str, meta: Dict[str, Any], runs: List[Any], archive: Any) -> None:
        self.path = path
        self.meta = meta
        self.runs = runs
        self.variables = meta.get("variables", [])
        self.seeds = meta.get("seeds")
        self.graphs = meta.get("graphs", [])
        self._archive = archive
        self._declared = declared_arrays(meta, runs)

    def array(self, key: str) -> Any:
        """Read one array."""
        try:
            array = self._archive.read(key)
            if key in self._declared and not as_declared(array, self._declared[key]):
                raise ValueError("it is no array of the dtype and shape that the description gives it")
            return array
        except MemoryError:
            raise ResultFileError("{}: the array {!r} is larger than the memory there is.".format(
                self.path, key)) from None
        except _UNREADABLE as error:
            raise ResultFileError("{}: the array {!r} cannot be read ({}): the file is damaged.".format(
                self.path, key, _one_line(error))) from None

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class _Archive:
    """The entries of an .npz file that nobody vouches for."""

    def __init__(self, path):
        self._zip = zipfile.ZipFile(path)
        self._whole = os.path.getsize(path)
        self.names = [name[:-len(".npy")] for name in self._zip.namelist() if name.endswith(".npy")]

    def read(self, name):
        """One array."""
        info = self._zip.getinfo(name + ".npy")
        size = entry_size(info, self._whole)
        with self._zip.open(info) as stream:
            return read_array(stream, size)

    def texts(self, names):
        """What each of several JSON texts, kept as arrays of bytes, says."""
        if sum(self._zip.getinfo(name + ".npy").file_size for name in names) > max(_TEXT, _MOST_TEXT * self._whole):
            raise ValueError("its description is larger than any that graphgrad writes")
        return [parse_json(self.read(name).tobytes()) for name in names]

    def close(self):
        """Close the file."""
        self._zip.close()


def load(path: Any) -> Recording:
    """Open a recording; its arrays are read when they are asked for.

    Args:
        path: a str or path of an ``.npz``.

    Returns:
        A Recording: close it, or use it as a ``with`` block.

    Raises:
        ResultFileError: no such file, truncated, not a recording, pickled, or of a newer format.
    """
    path = str(path)
    if not os.path.isfile(path):
        raise ResultFileError("There is no result file {}.".format(path))
    archive = None
    try:
        archive = _Archive(path)
        if "graphgrad" not in archive.names:
            raise ResultFileError(
                "{} is an .npz, but not a recording of graphgrad: it has no entry 'graphgrad'.".format(path))
        return Recording(path, *_description(path, archive), archive=archive)
    except (_UNREADABLE + (MemoryError,)) as error:
        if archive is not None:
            archive.close()
        if isinstance(error, ResultFileError):
            raise
        raise ResultFileError("{} cannot be read as a recording: it is truncated, or another kind of file ({}).".format(
            path, _one_line(error))) from None


def _one_line(error):
    return str(error).split("\n")[0]


def _description(path, archive):
    meta, = archive.texts(["graphgrad"])
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise ResultFileError("{} is not a recording of graphgrad: its description is of another kind.".format(path))
    if meta["format"] > FORMAT:
        raise ResultFileError(
            "{} is a recording of format {}, and this graphgrad reads up to {}: update graphgrad.".format(
                path, meta["format"], FORMAT))
    if meta["format"] == 1:
        runs = meta.pop("runs", None)
    else:
        chunks = archive.texts(sorted(name for name in archive.names if name.startswith("runs/")))
        runs = [run for chunk in chunks for run in chunk]
    if not well_formed(meta, runs):
        raise ResultFileError("{} is not a recording of graphgrad: its description is of another kind.".format(path))
    return meta, runs
