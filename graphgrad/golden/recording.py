"""Read a recording, with numpy alone; a result file is data, and nothing in it is ever executed."""
import json
import os
import struct
import zipfile
import zlib
from typing import Any, Dict, List

import numpy as np

from ..errors import ResultFileError
from .recorder import FORMAT

_LARGEST_TEXT = 1 << 29
_UNREADABLE = (KeyError, ValueError, OSError, zipfile.BadZipFile, EOFError, zlib.error, struct.error, TypeError,
               OverflowError, NotImplementedError, RecursionError)


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

    def array(self, key: str) -> Any:
        """Read one array."""
        try:
            return self._archive[key]
        except MemoryError:
            raise ResultFileError("{}: the array {!r} is larger than the memory there is.".format(
                self.path, key)) from None
        except _UNREADABLE as error:
            raise ResultFileError("{}: the array {!r} cannot be read ({}): the file is damaged.".format(
                self.path, key, error)) from None

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


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
        if not zipfile.is_zipfile(path):   # np.load would leave such a file open, or take it for a pickle
            raise ValueError("no whole .npz archive")
        archive = np.load(path, allow_pickle=False)
        if "graphgrad" not in archive.files:
            raise ResultFileError(
                "{} is an .npz, but not a recording of graphgrad: it has no entry 'graphgrad'.".format(path))
        return Recording(path, *_description(path, archive), archive=archive)
    except (_UNREADABLE + (MemoryError,)) as error:
        if archive is not None:
            archive.close()
        if isinstance(error, ResultFileError):
            raise
        raise ResultFileError("{} cannot be read as a recording: it is truncated, or another kind of file ({}).".format(
            path, str(error).split("\n")[0])) from None


def _description(path, archive):
    meta = _text(archive, "graphgrad")
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise ResultFileError("{} is not a recording of graphgrad: its description is of another kind.".format(path))
    if meta["format"] > FORMAT:
        raise ResultFileError(
            "{} is a recording of format {}, and this graphgrad reads up to {}: update graphgrad.".format(
                path, meta["format"], FORMAT))
    if meta["format"] == 1:
        runs = meta.pop("runs", None)
    else:
        runs = [run for name in sorted(archive.files) if name.startswith("runs/") for run in _text(archive, name)]
    if not _well_formed(meta, runs):
        raise ResultFileError("{} is not a recording of graphgrad: its description is of another kind.".format(path))
    return meta, runs


def _text(archive, name):
    if archive.zip.getinfo(name + ".npy").file_size > _LARGEST_TEXT:
        raise ValueError("its description is larger than any that graphgrad writes")
    return json.loads(archive[name].tobytes().decode("utf-8"))


def _well_formed(meta, runs):
    variables = meta.get("variables", [])
    return (isinstance(runs, list) and isinstance(variables, list)
            and isinstance(meta.get("graphs", []), list) and isinstance(meta.get("overrides", []), list)
            and all(isinstance(run, dict) and _are_entries(run.get("fetches")) and _are_entries(run.get("feeds"))
                    for run in runs)
            and all(isinstance(variable, dict) and isinstance(variable.get("name"), str)
                    and _are_entries([variable.get("initial")])
                    and _are_entries([variable["final"]] if "final" in variable else []) for variable in variables))


def _are_entries(entries):
    return isinstance(entries, list) and all(_is_entry(entry) for entry in entries)


def _is_entry(entry):
    if not (isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get("kind"), str)):
        return False
    if "parts" in entry:
        return _are_entries(entry["parts"])
    if entry["kind"] == "none":
        return True
    if not isinstance(entry.get("dtype"), str) or not isinstance(entry.get("shape"), list):
        return False
    return isinstance(entry.get("values"), list) if entry["kind"] == "strings" else isinstance(entry.get("key"), str)
