"""Comparing recordings: what differs is found and located, honest rounding passes, files are only data."""
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.golden.compare import compare, load
from graphgrad.golden.recorder import Recorder
from graphgrad.golden.report import Row, comparison_text, suite_table

VALUES = np.array([1.0, -2.0, 3.0], np.float32)


def recording(tmp_path, name, *runs, **meta):
    """Write runs of (fetch name, value) pairs, or ({feeds}, pairs), as the recorder writes them."""
    recorder = Recorder(["test"])
    for pairs in runs:
        feeds, pairs = pairs if isinstance(pairs[0], dict) else ({}, pairs)
        recorder._record([key for key, _ in pairs], feeds, [value for _, value in pairs])
    recorder.meta.update(complete=True, error=None)
    recorder.meta.update(meta)
    path = str(tmp_path / (name + ".npz"))
    recorder.save(path)
    return load(path)


def outcome(tmp_path, new, old, key="y"):
    return compare(recording(tmp_path, "new", [(key, new)]), recording(tmp_path, "old", [(key, old)]))


@pytest.mark.parametrize("value", [
    VALUES, VALUES.astype(np.float64), np.float16(1.5), np.arange(4), np.array(True), np.array([b"a", b"bc"]), "text",
    np.zeros([0, 3], np.float32), np.array([np.nan, np.inf, -np.inf], np.float32), np.array([1 + 2j], np.complex64), None,
], ids=repr)
def test_recorded_twice_is_the_same(tmp_path, value):
    """Every kind of value compares as equal to itself, bit for bit."""
    result = outcome(tmp_path, value, value)
    assert result.same and result.worst == 0


@pytest.mark.parametrize("new, old, kind", [
    (VALUES.astype(np.float64), VALUES, "dtype"),
    (VALUES[:, None], VALUES, "shape"),
    (None, VALUES, "none"),
    ("text", VALUES, "kind"),
    (np.array([1.0, np.nan, 3.0], np.float32), VALUES, "non-finite"),
    (np.array([np.inf], np.float32), np.array([-np.inf], np.float32), "non-finite"),
    (VALUES + np.float32(1e-4), VALUES, "values"),
    (-VALUES, VALUES, "values"),
    (VALUES.astype(np.float64) * (1 + 1e-12), VALUES.astype(np.float64), "values"),
    (np.array([1, 2]), np.array([1, 3]), "values"),
    (np.array([True]), np.array([False]), "values"),
    (np.array([b"a"]), np.array([b"b"]), "values"),
    (np.array([0.0, 1e-30], np.float32), np.array([0.0, 0.0], np.float32), "values"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_planted_difference_is_found(tmp_path, new, old, kind):
    """Each kind of difference, by name."""
    result = outcome(tmp_path, new, old)
    assert not result.same
    assert [difference.kind for difference in result.differences] == [kind]
    assert result.differences[0].where == "run 0, y"


def test_honest_rounding_passes(tmp_path):
    """5e-6 of the largest value, as measured between TF 1.15 and 2.21, also where the value itself is near zero."""
    old = np.array([1000.0, 1e-6], np.float32)
    new = old + np.array([0.0, 4e-3], np.float32)
    result = outcome(tmp_path, new, old)
    assert result.same and 0.5 < result.worst < 1
    assert not outcome(tmp_path, old + np.array([0.0, 6e-3], np.float32), old).same


def test_the_place_of_the_difference_is_said(tmp_path):
    """The run, the tensor, the index, both values and what was allowed."""
    old = recording(tmp_path, "old", [("a", VALUES)], [("b", VALUES), ("c", VALUES)])
    new = recording(tmp_path, "new", [("a", VALUES)], [("b", VALUES), ("c", VALUES + np.float32([0, 0.5, 0]))])
    text = comparison_text(compare(new, old), "s.py")
    assert text.startswith("s.py: differs, first at run 1, c: 1 of 3 values differ; at [1] it is -1.5 now, -2.0 then, with")


def test_other_feeds_are_not_called_a_wrong_result(tmp_path):
    """If the inputs differ it says so, and nothing about values."""
    old = recording(tmp_path, "old", ({"x": VALUES}, [("y", VALUES)]))
    new = recording(tmp_path, "new", ({"x": 2 * VALUES}, [("y", 2 * VALUES)]))
    assert [difference.kind for difference in compare(new, old).differences] == ["feeds"]


def test_runs_fetches_and_incomplete_recordings(tmp_path):
    """Another number of runs or fetches, no run at all, and a script that died: never "same"."""
    one = recording(tmp_path, "one", [("y", VALUES)])
    two = recording(tmp_path, "two", [("y", VALUES)], [("y", VALUES)])
    pair = recording(tmp_path, "pair", [("y", VALUES), ("z", VALUES)])
    dead = recording(tmp_path, "dead", [("y", VALUES)], complete=False, error="KeyError: 'x'")
    none = recording(tmp_path, "none")
    kinds = [[d.kind for d in compare(new, old).differences] for new, old in (
        (one, two), (one, pair), (dead, one), (none, none))]
    assert kinds == [["runs"], ["fetches"], ["incomplete"], ["empty"]]


def test_other_names_at_the_same_place_are_a_note(tmp_path):
    """A rewrite may name its tensors as it likes."""
    result = compare(recording(tmp_path, "new", [("relu:0", VALUES)]), recording(tmp_path, "old", [("y:0", VALUES)]))
    assert result.same and result.notes == ["1 fetches have another name than then"]


def damaged(tmp_path, kind):
    path = tmp_path / (kind + ".npz")
    if kind == "missing":
        return str(path)
    recording(tmp_path, kind, [("y", np.random.RandomState(0).randn(1000))])
    whole = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(whole[:len(whole) // 2])
    elif kind == "text":
        path.write_text("hello")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "pickled":
        path.write_bytes(pickle.dumps({"a": 1}))
    elif kind == "foreign":
        np.savez(str(path), a=VALUES)
    elif kind == "newer":
        recording(tmp_path, kind, [("y", VALUES)], format=99)
    elif kind == "other_json":
        np.savez(str(path), graphgrad=np.frombuffer(json.dumps([1]).encode(), np.uint8))
    elif kind == "object":
        np.savez(str(path), graphgrad=np.array([{"a": 1}], dtype=object))
    return str(path)


@pytest.mark.parametrize("kind, text", [
    ("missing", "There is no result file"), ("truncated", "truncated, or another kind of file"),
    ("text", "truncated, or another kind of file"), ("empty", "truncated, or another kind of file"),
    ("pickled", "truncated, or another kind of file"), ("foreign", "not a recording of graphgrad"),
    ("newer", "recording of format 99, and this graphgrad reads up to 2"), ("other_json", "not a recording of graphgrad"),
    ("object", "truncated, or another kind of file")])
def test_files_that_are_not_ours(tmp_path, kind, text):
    """One sentence with the file's name; nothing in it is executed."""
    with pytest.raises(gg.ResultFileError, match=text):
        load(damaged(tmp_path, kind))


def test_a_failing_save_leaves_the_old_file(tmp_path):
    """Written to a temporary file, then renamed."""
    old = recording(tmp_path, "kept", [("y", VALUES)])
    recorder = Recorder()
    recorder.meta["error"] = object()   # no JSON
    with pytest.raises(TypeError):
        recorder.save(old.path)
    assert load(old.path).array("run0000/000").tolist() == VALUES.tolist()
    assert os.listdir(str(tmp_path)) == ["kept.npz"]


def test_the_table_says_what_happened(tmp_path):
    """Script, overrides, how many ops the gradient went through, the difference, the verdict."""
    result = outcome(tmp_path, VALUES, VALUES)
    meta = {"overrides": [{"op_type": "Relu", "tag": "GuidedRelu", "tagged": 3, "differentiated": 2}]}
    lines = suite_table([Row("a.py", "same", meta, result), Row("b.py", "failed")]).splitlines()
    assert [line.split("  ") for line in lines[2:]] and lines[2].split() == [
        "a.py", "Relu", "->", "GuidedRelu", "2", "of", "3", "0", "(bit", "for", "bit)", "same"]
    assert lines[3].split() == ["b.py", "none", "-", "-", "failed"]


def test_comparing_files_imports_no_tensorflow(tmp_path):
    """Nor do --help and rules."""
    path = recording(tmp_path, "one", [("y", VALUES)]).path
    for arguments in (["--help"], ["rules"], ["rules", "guided"], ["compare", path, path]):
        code = ("import sys, graphgrad.cli\ntry:\n    status = graphgrad.cli.main({!r})\nexcept SystemExit as e:\n"
                "    status = e.code\nassert 'tensorflow' not in sys.modules\nsys.exit(status)".format(arguments))
        assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0
