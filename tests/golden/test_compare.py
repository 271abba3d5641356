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


def test_an_array_that_claims_to_be_huge(tmp_path):
    """One sentence, whatever the header says."""
    import io
    import zipfile
    path = recording(tmp_path, "kept", [("y", VALUES)]).path
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10 ** 15,)})
    huge = str(tmp_path / "huge.npz")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(huge, "w") as new:
        for name in old.namelist():
            new.writestr(name, header.getvalue() if name == "run0000/000.npy" else old.read(name))
    with pytest.raises(gg.ResultFileError, match="huge.npz: the array 'run0000/000' (is larger than the memory|cannot be read)"):
        load(huge).array("run0000/000")


@pytest.mark.parametrize("meta", [
    {"variables": 3}, {"variables": [{"name": "v"}]}, {"overrides": "all"}, {"graphs": {}}], ids=str)
def test_descriptions_of_another_kind(tmp_path, meta):
    """JSON that is none of ours is refused when it is opened, not met later."""
    path = str(tmp_path / "other.npz")
    text = json.dumps(dict({"format": 2, "complete": True}, **meta)).encode()
    np.savez(path, graphgrad=np.frombuffer(text, np.uint8))
    with pytest.raises(gg.ResultFileError, match="its description is of another kind"):
        load(path)


@pytest.mark.parametrize("entry", [
    {}, {"name": "y"}, {"name": "y", "kind": "array"}, {"name": 3, "kind": "none"}, {"name": "y", "kind": "strings", "dtype": "s",
     "shape": [], "values": 1}, {"name": "y", "kind": "S", "parts": [{}]}, []], ids=str)
def test_entries_of_another_kind(tmp_path, entry):
    """The same for what a run is said to have fetched."""
    path = str(tmp_path / "other.npz")
    texts = {"graphgrad": {"format": 2, "complete": True}, "runs/0000": [{"fetches": [entry], "feeds": []}]}
    np.savez(path, **{name: np.frombuffer(json.dumps(text).encode(), np.uint8) for name, text in texts.items()})
    with pytest.raises(gg.ResultFileError, match="its description is of another kind"):
        load(path)


def test_the_first_format_is_read():
    """Recordings without variables, seeds and graphs are still compared: every old result that there is."""
    from graphgrad.golden.memory import InMemory
    one = InMemory()
    one.add_run([("y", VALUES)])
    assert compare(one, one).same and compare(one, one).compared == 1


@pytest.mark.parametrize("new, old, pairs", [
    (["a:0", "b:0"], ["b:0", "a:0"], [(1, 0), (0, 1)]),
    (["AddV2:0"], ["Add:0"], [(0, 0)]),
    (["net/FusedBatchNormV3:0", "RealDiv_1"], ["Div_1", "net/FusedBatchNorm:0"], [(1, 0), (0, 1)]),
    (["sequential/dense/kernel:0"], ["dense/kernel:0"], [(0, 0)]),
    (["dense/kernel"], ["model/dense/kernel:0"], [(0, 0)]),
    (["a/dense/kernel", "b/dense/kernel"], ["dense/kernel"], []),
    (["Add_1"], ["Add_2"], []),
    (["y", "y"], ["y", "y"], [(0, 0), (1, 1)]),
], ids=str)
def test_names_are_matched(new, old, pairs):
    """Exactly, as TensorFlow renamed them, by their ends; never by guessing between two."""
    from graphgrad.golden.names import match
    assert match(new, old)[0] == pairs


@pytest.mark.parametrize("new, old, shapes, pairs", [
    # The numbers were shifted: b_1 is not the b_1 of then.
    (["b_1:0", "b_2:0"], ["b:0", "b_1:0"], None, [(0, 0), (1, 1)]),
    (["g/Conv2DBackpropInput_13:0", "g/Conv2DBackpropInput_12:0"], ["g/Conv2DBackpropInput_12:0",
                                                                    "g/Conv2DBackpropInput_11:0"], None, [(0, 0), (1, 1)]),
    # A dict in another order, of names that are somebody's.
    (["loss:0", "accuracy:0"], ["accuracy:0", "loss:0"], None, [(1, 0), (0, 1)]),
    # Of equal names in another order the shapes tell; without them, the names.
    (["w_1:0", "w:0"], ["w:0", "w_1:0"], None, [(1, 0), (0, 1)]),
    (["w_1:0", "w:0"], ["w:0", "w_1:0"], ([2, 3], [2, 3]), [(0, 0), (1, 1)]),
    (["w_1:0", "w_2:0"], ["w:0", "w_1:0"], ([3, 2], [2, 3]), [(1, 0), (0, 1)]),
    (["b_1:0"], ["b:0", "b_1:0"], None, [(0, 1)]),
], ids=str)
def test_lists_of_fetches_are_matched(new, old, shapes, pairs):
    """By their places where only numbers differ, else by their names; shapes decide between the two."""
    from graphgrad.golden.names import match_lists
    got, free_old, free_new, turned = match_lists(new, old, shapes or ([0] * len(new), [0] * len(old)))
    assert got == pairs and turned == (sorted(new) == sorted(old) and pairs[0] == (1, 0))
    assert len(free_old) == len(old) - len(pairs) and len(free_new) == len(new) - len(pairs)


def test_a_number_that_shifted_is_not_another_tensor(tmp_path):
    """b_1 now is what b was: the values decide, and b_1 of then is not compared with it."""
    result = compare(recording(tmp_path, "new", [("b_1:0", VALUES), ("b_2:0", 2 * VALUES)]),
                     recording(tmp_path, "old", [("b:0", VALUES), ("b_1:0", 2 * VALUES)]))
    assert result.same and result.compared == 2
    turned = compare(recording(tmp_path, "turned", [("b_1:0", 2 * VALUES), ("b:0", VALUES)]),
                     recording(tmp_path, "then", [("b:0", VALUES), ("b_1:0", 2 * VALUES)]))
    assert turned.same and "compared by name" in turned.notes[0]


def test_tolerances_are_looked_up():
    """A name before a pattern before a dtype; words of the command line; what makes no sense is refused."""
    from graphgrad.golden.tolerances import Tolerances, parse
    settings = parse(["float32=1,2", "loss*=3,4", "loss:0=5,6"])
    tolerances = Tolerances(settings)
    assert [tolerances.of(name, "float32") for name in ("y", "losses", "loss:0")] == [(1, 2), (3, 4), (5, 6)]
    assert tolerances.of("y", "int32") is None and tolerances.of("y", "float64") == (0.0, 5e-14)
    for word in ("loss", "=1,2", "loss=1", "loss=1,x", "loss=-1,2", "loss=1,inf"):
        with pytest.raises(gg.GraphGradError, match="olerance"):
            parse([word])


@pytest.mark.parametrize("size", [10, 1 << 17, (1 << 17) + 3, 3 << 17])
def test_blocks_give_what_the_whole_gives(size):
    """The place, the count and the ratio, against the formula on the whole arrays; and NaN in the last block."""
    from graphgrad.golden.values import compare_values
    random = np.random.RandomState(size)
    old = random.randn(size).astype(np.float32)
    new = old + (1e-5 * random.randn(size)).astype(np.float32)
    new[-1] = old[-1] + 1
    wide_old, wide_new = old.astype(np.float64), new.astype(np.float64)
    ratio = np.abs(wide_new - wide_old) / (1e-5 * np.abs(wide_old) + 5e-6 * np.abs(wide_old).max())
    outcome = compare_values(new, old, (1e-5, 5e-6))
    assert outcome.index == (size - 1,) and outcome.wrong == (ratio > 1).sum()
    np.testing.assert_allclose(outcome.ratio, ratio.max())
    new[-1] = np.nan
    assert compare_values(new, old, (1e-5, 5e-6)).odd == (size - 1,)


def test_reports_that_cannot_be_written(tmp_path, capsys):
    """One sentence, exit status 2; where they can, all three are."""
    from graphgrad.cli import main
    path = recording(tmp_path, "one", [("y", VALUES)]).path
    assert main(["compare", path, path, "--html", str(tmp_path / "no" / "x.html")]) == 2
    assert "x.html cannot be written: No such file or directory." in capsys.readouterr().err
    words = [word for kind in ("json", "junit", "html") for word in ("--" + kind, str(tmp_path / ("r." + kind)))]
    assert main(["compare", path, path] + words) == 0
    assert all((tmp_path / ("r." + kind)).stat().st_size > 100 for kind in ("json", "junit", "html"))
