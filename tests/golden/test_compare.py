"""Comparing recordings: what differs is found and located, honest rounding passes, files are only data."""
import collections
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
from graphgrad.golden.report import Report, Row, comparison_text, suite_table

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
        "a.py", "Relu", "->", "GuidedRelu", "2", "of", "3", "0", "(the", "same", "values)", "same"]
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


def test_a_difference_in_a_part_is_found(tmp_path):
    """A fetch of several tensors, such as a SparseTensorValue: the part is named."""
    Pair = collections.namedtuple("Pair", ["left", "right"])
    right = outcome(tmp_path, Pair(VALUES, VALUES), Pair(VALUES, VALUES))
    assert right.same and right.compared == 2
    assert [(one.dtype, one.tolerance) for one in right.tensors] == [("float32", (1e-5, 5e-6))] * 2
    wrong = outcome(tmp_path, Pair(VALUES, VALUES + 1), Pair(VALUES, VALUES))
    assert [(one.where, one.kind) for one in wrong.differences] == [("run 0, y.right", "values")]


def test_variables_are_compared_session_by_session(tmp_path):
    """Two sessions have a variable of one name each; what differs is told of the right one."""
    def variables(name, *values):
        recorder = Recorder(["test"])
        recorder._record(["y"], {}, [VALUES])
        recorder.meta.update(complete=True, error=None)
        recorder._variables = [{
            "session": session, "name": "w:0", "initial": recorder._value("w:0", np.float32(value), "initial/{}".format(session)),
            "final": recorder._value("w:0", np.float32(0.0), "final/{}".format(session))} for session, value in enumerate(values)]
        path = str(tmp_path / (name + ".npz"))
        recorder.save(path)
        return load(path)

    old = variables("old", 1.0, 2.0)
    assert compare(variables("same", 1.0, 2.0), old).compared == 5
    assert compare(variables("same", 1.0, 2.0), old).same
    wrong = compare(variables("new", 1.0, 3.0), old)
    assert len(wrong.differences) == 1 and "it is 3.0 now, 2.0 then" in str(wrong.differences[0])


BLOCK = 1 << 17


def test_the_largest_value_is_that_of_the_whole_tensor():
    """What is allowed near zero hangs on it, also where the largest value is unchanged, far away, or among infinities."""
    from graphgrad.golden.values import compare_values
    old = np.zeros(2 * BLOCK, np.float32)
    old[0], old[1] = -1000.0, np.inf
    new = old.copy()
    new[-1] = 4e-3
    result = compare_values(new, old, (0.0, 5e-6))
    assert result.ratio == pytest.approx(0.8) and result.wrong == 0 and result.odd is None
    assert (result.index, result.allowed) == ((2 * BLOCK - 1,), pytest.approx(5e-3))
    assert result.largest == pytest.approx(4e-3)
    new[-1] = 6e-3
    assert compare_values(new, old, (0.0, 5e-6)).wrong == 1
    assert compare_values(new, old, (0.0, 5e-6), largest=2000.0).wrong == 0   # of a sample: that of the whole
    small = compare_values(np.array([np.inf, 0.5, 0.0]), np.array([np.inf, 0.5, 0.1]), (0.0, 0.1))
    assert small.allowed == pytest.approx(0.05)


def test_shared_infinities_hide_nothing():
    """NaN and infinities that both have are the same; what differs beside them is counted; one that is new is odd."""
    from graphgrad.golden.values import compare_values
    old = np.array([[np.nan, np.inf, 1.0], [-np.inf, 2.0, 3.0]])
    new = old.copy()
    same = compare_values(new, old, (0.0, 1e-3))
    assert (same.ratio, same.wrong, same.index, same.odd) == (0, 0, None, None)
    new[1, 1:] = [2.5, 5.0]
    result = compare_values(new, old, (0.0, 1e-3))
    assert (result.wrong, result.index, result.largest, result.odd) == (2, (1, 2), 2.0, None)
    for place, value in (((0, 0), 0.0), ((1, 0), np.inf), ((0, 2), np.nan)):
        odd = old.copy()
        odd[place] = value
        odd[1, 2] = 7.0
        result = compare_values(odd, old, (0.0, 1e-3))
        assert (result.odd, result.ratio) == (place, np.inf)
    old, new = np.zeros(3 * BLOCK), np.zeros(3 * BLOCK)
    new[[5, BLOCK, 2 * BLOCK]] = 1.0, np.nan, np.nan
    assert compare_values(new, old, (0.0, 1e-3)).odd == (BLOCK,)   # the first


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_], ids=str)
def test_what_must_be_equal_is_counted_over_all_blocks(dtype):
    """Integers and booleans: the first place, the number, the largest step; and nothing is allowed."""
    from graphgrad.golden.values import compare_values
    old = np.zeros([2, BLOCK], dtype)
    new = old.copy()
    assert compare_values(new, old, None).ratio == 0
    new[0, 5], new[0, 6], new[1, 7] = 3, 1, 1
    result = compare_values(new, old, None)
    assert (result.wrong, result.index, result.ratio, result.allowed) == (3, (0, 5), np.inf, 0.0)
    assert result.largest == (0.0 if dtype is np.bool_ else 3.0)
    assert dtype is np.bool_ or compare_values(np.array([7, 9], dtype), np.array([5, 8], dtype), None).largest == 2.0
    assert compare_values(old, new, None).largest == result.largest   # 0 - 1 is no large number, also unsigned


def test_complex_values_are_compared_as_such():
    """By the absolute value of the difference."""
    from graphgrad.golden.values import compare_values
    old = np.array([3 + 4j, 1j], np.complex64)
    new = old + np.array([0, 0.3 - 0.4j], np.complex64)
    result = compare_values(new, old, (0.0, 0.2))
    assert (result.index, result.wrong) == ((1,), 0)
    assert (result.largest, result.ratio) == (pytest.approx(0.5), pytest.approx(0.5))


def test_where_nothing_is_allowed():
    """A tolerance of zero is equality; zeros then and now are the same."""
    from graphgrad.golden.values import compare_values
    old = np.array([0.0, 1.0])
    assert compare_values(-old[:1], old[:1], (0.0, 5e-14)).ratio == 0   # -0.0
    result = compare_values(old + [0.0, 1e-16], old, (0.0, 0.0))
    assert (result.ratio, result.wrong) == (0, 0)
    result = compare_values(old + [0.0, 0.5], old, (0.5, 0.0))
    assert (result.ratio, result.wrong) == (1, 0)   # exactly what is allowed
    result = compare_values(old + [0.0, 1e-15], old, (0.0, 0.0))
    assert (result.ratio, result.wrong, result.index, result.allowed) == (np.inf, 1, (1,), 0.0)


@pytest.mark.parametrize("dtype, unit", [("float16", 2.0 ** -10), ("bfloat16", 2.0 ** -7)])
def test_narrow_dtypes_may_differ_by_four_units(dtype, unit):
    """Four units of rounding relative to the value, and as many to the largest."""
    from graphgrad.golden.tolerances import Tolerances
    assert Tolerances().of("y", dtype) == (4 * unit, 4 * unit)
    assert Tolerances().of("y", "complex64") == Tolerances().of("y", "float32") == (1e-5, 5e-6)
    assert Tolerances().of("y", "complex128") == Tolerances().of("y", "float64") == (0.0, 5e-14)


def test_tolerances_of_names():
    """Zero is a tolerance; a name may leave its ":0" out or not; a later setting wins; it need not be a pair of floats."""
    from graphgrad.golden.tolerances import Tolerances
    tolerances = Tolerances({"loss:0": (0, 0), "w*": [1, 2], "weights": ("3", 4)})
    assert tolerances.of("loss", "float32") == tolerances.of("loss:0", "int32") == (0.0, 0.0)
    assert [tolerances.of(name, "float32") for name in ("w", "weights", "w/weights", "xw")] == [
        (1.0, 2.0), (3.0, 4.0), (1.0, 2.0), (1e-5, 5e-6)]
    for pair in (3, (1,), (1, 2, 3), (-1, 0), (0, -1), (float("inf"), 0), (0, float("nan")), ("x", 1)):
        with pytest.raises(gg.GraphGradError, match="The tolerance of y must be two numbers from 0"):
            Tolerances({"y": pair})


def test_the_worst_of_several_tensors(tmp_path):
    """How far the worst is, where that is, and the largest difference of all; a shape counts as infinitely far."""
    old = recording(tmp_path, "old", [("a", VALUES), ("b", VALUES), ("c", 1000 * VALUES)])
    new = recording(tmp_path, "new", [("a", VALUES), ("b", VALUES + np.float32(1e-5)), ("c", 1000 * VALUES + np.float32(5e-3))])
    result = compare(new, old)
    assert result.same and result.compared == 3 and result.worst_where == "run 0, b" and 0.1 < result.worst < 1
    assert result.largest == pytest.approx(5e-3, rel=0.1)
    assert (result.worst, result.largest) == (result.tensors[1].ratio, result.tensors[2].largest)
    worse = compare(recording(tmp_path, "worse", [("a", VALUES), ("b", VALUES + 1), ("c", VALUES[:2])]), old)
    assert (worse.worst, worse.worst_where) == (np.inf, "run 0, c")
    nothing = compare(recording(tmp_path, "none"), recording(tmp_path, "nothing"))
    assert (nothing.worst, nothing.worst_where, nothing.largest, nothing.compared) == (0, None, 0, 0)


def test_other_arguments_are_refused(tmp_path):
    """Results for other arguments are other results, unless one says so; a recording that knows none is compared."""
    def given(name, arguments):
        return recording(tmp_path, name, [("y", VALUES)], arguments=arguments)

    with pytest.raises(gg.GraphGradError, match="arguments --steps 3 now and \\(none\\) then"):
        compare(given("new", ["--steps", "3"]), given("old", []))
    assert compare(given("new", ["--steps", "3"]), given("old", []), any_arguments=True).same
    assert compare(given("new", ["x"]), given("old", ["x"])).same
    assert compare(given("new", ["x"]), given("old", None)).same and compare(given("new", None), given("old", ["x"])).same


def test_tolerances_that_were_stored_hold_and_can_be_replaced(tmp_path):
    """Those in the old recording; what is given now wins; those in the new one do not count."""
    old = recording(tmp_path, "old", [("y", VALUES)], tolerances={"y": [1.0, 1.0]})
    new = recording(tmp_path, "new", [("y", VALUES + 1)], tolerances={"y": [0.0, 0.0]})
    assert compare(new, old).same
    assert [one.kind for one in compare(new, old, tolerances={"y": (0.0, 0.0)}).differences] == ["values"]
    assert compare(new, old, tolerances={"z": (0.0, 0.0)}).same
    exactly = compare(recording(tmp_path, "exactly", [("y", 1.5 * VALUES)]), old, tolerances={"y": (0.5, 0.0)})
    assert exactly.same and exactly.worst == 1   # what is allowed is allowed


def test_either_recording_may_be_incomplete(tmp_path):
    """Whose it is, and what ended it."""
    whole = recording(tmp_path, "whole", [("y", VALUES)])
    dead = recording(tmp_path, "dead", [("y", VALUES)], complete=False, error="KeyError: 'x'")
    assert [str(one) for one in compare(dead, whole).differences] == ["new recording: it is incomplete (KeyError: 'x')"]
    assert [str(one) for one in compare(whole, dead).differences] == ["old recording: it is incomplete (KeyError: 'x')"]


def test_runs_that_one_side_left_out_are_not_compared(tmp_path):
    """As of --every N; the others are, under their own numbers."""
    old = recording(tmp_path, "old", *[[("y", VALUES)]] * 3)
    new = recording(tmp_path, "new", *[[("y", VALUES + step)] for step in range(3)])
    assert [one.where for one in compare(new, old).differences] == ["run 1, y", "run 2, y"]
    old.runs[1]["skipped"] = True
    assert [one.where for one in compare(new, old).differences] == ["run 2, y"]
    new.runs[2]["skipped"] = True
    assert compare(new, old).same


def test_within_a_run_differences_come_in_the_order_of_the_graph(tmp_path):
    """The first is where the two part, whatever order the fetches have; what the graph does not know is last."""
    names = ["late:0", "unknown:0", "early:0", "middle:0"]
    old = recording(tmp_path, "old", [(name, VALUES) for name in names])
    new = recording(tmp_path, "new", [(name, VALUES + 1) for name in names])
    old.graphs = [{"nodes": [["early", "Relu", []], ["middle", "Relu", []], ["late", "Relu", []]]}, {}]
    assert [one.tensor.name for one in compare(new, old).differences] == ["early:0", "middle:0", "late:0", "unknown:0"]
    fewer = recording(tmp_path, "fewer", [(name, VALUES + 1) for name in names[:3]])
    differences = compare(fewer, old).differences
    assert [one.where for one in differences] == ["run 0", "run 0, early:0", "run 0, late:0", "run 0, unknown:0"]
    assert differences[0].text == "3 tensors fetched now, 4 then; missing: middle:0"
    assert compare(old, fewer).differences[0].text == "4 tensors fetched now, 3 then; new: middle:0"


def test_intermediates_that_one_version_has_not(tmp_path):
    """Tensors in between are compared where both have them; a numbered name of another shape is another tensor."""
    old = recording(tmp_path, "old", [("relu:0", VALUES), ("mul_1:0", VALUES), ("gone:0", VALUES)])
    new = recording(tmp_path, "new", [("relu:0", VALUES + 1), ("mul_1:0", VALUES[:2]), ("relu_2/x:0", VALUES)])
    assert {one.kind for one in compare(new, old).differences} >= {"shape"}
    for one in (old, new):
        one.runs[0]["intermediates"] = True
    assert [str(one.where) for one in compare(new, old).differences] == ["run 0, relu:0"]
    short = recording(tmp_path, "short", [("relu:0", VALUES)])
    assert [one.kind for one in compare(short, old).differences] == ["fetches"]
    short.runs[0]["intermediates"] = True
    assert compare(short, old).same


def test_feeds_are_compared_by_their_values_and_number(tmp_path):
    """Within tolerance they are the same; one more is not."""
    def fed(name, **feeds):
        return recording(tmp_path, name, (dict({"x": VALUES}, **feeds), [("y", VALUES)]))

    assert compare(fed("new", x=VALUES * np.float32(1 + 1e-7)), fed("old")).same
    for new, old in ((fed("new", x=VALUES + 1), fed("old")), (fed("new", z=VALUES), fed("old")), (fed("new"), fed("old", z=VALUES))):
        difference, = compare(new, old).differences
        assert str(difference) == "run 0: the inputs that were fed differ, so the results cannot be compared"
        assert compare(new, old).compared == 0


def test_none_and_zeros(tmp_path):
    """None says that there is no path; an operation, which gives None, is nothing to compare."""
    texts = {(name, other): [str(one) for one in outcome(tmp_path, new, old).differences] for name, new in (
        ("none", None), ("zeros", 0 * VALUES), ("value", VALUES)) for other, old in (("none", None), ("value", VALUES))}
    assert texts["none", "none"] == [] and texts["value", "value"] == []
    assert texts["none", "value"] == ["run 0, y: None now, a value then"]
    assert texts["value", "none"] == ["run 0, y: a value now, None then"]
    assert texts["zeros", "none"] == ["run 0, y: zeros now, None then: None says that there is no path, which zeros do not"]
    assert outcome(tmp_path, None, None).compared == 0


def test_strings_that_differ(tmp_path):
    """How many, and the first of them."""
    difference, = outcome(tmp_path, np.array(["a", "x", "y"]), np.array(["a", "b", "c"])).differences
    assert difference.text == "2 of 3 strings differ; at [1] it is 'x' now, 'b' then"
    assert difference.tensor.ratio == np.inf


def test_the_text_of_a_difference(tmp_path):
    """The index, the values, what was allowed; of a scalar no index."""
    difference, = outcome(tmp_path, np.array([[1, 5], [3, 9]]), np.array([[1, 2], [3, 4]])).differences
    assert difference.text == "2 of 4 values differ; at [0, 1] it is 5 now, 2 then, with 0 allowed"
    difference, = outcome(tmp_path, np.float64(3.0), np.float64(2.0)).differences
    assert difference.text == "1 of 1 values differ; it is 3.0 now, 2.0 then, with 1e-13 allowed"
    difference, = outcome(tmp_path, np.array([[1.0, np.nan]]), np.array([[1.0, 2.0]])).differences
    assert difference.text == "at [0, 1] it is nan now, 2.0 then"
    difference, = outcome(tmp_path, VALUES[:2], VALUES).differences
    assert difference.text == "shape [2] now, [3] then" and difference.tensor.dtype == "float32"
    assert difference.tensor.keys is None and difference.tensor.ratio == np.inf


def test_parts_of_another_number(tmp_path):
    """A value of three parts where there were two: another kind, not a comparison of the first two."""
    Pair, Triple = collections.namedtuple("Pair", "a b"), collections.namedtuple("Triple", "a b c")
    assert [one.kind for one in outcome(tmp_path, Triple(VALUES, VALUES, VALUES), Pair(VALUES, VALUES)).differences] == ["kind"]
    assert [one.kind for one in outcome(tmp_path, VALUES, Pair(VALUES, VALUES)).differences] == ["kind"]


def sampled(tmp_path, name, value):
    """A recording of one value that was too large to keep."""
    recorder = Recorder(["test"], max_bytes=1000)
    recorder._record(["y"], {}, [value])
    recorder.meta.update(complete=True, error=None)
    recorder.save(str(tmp_path / (name + ".npz")))
    return load(str(tmp_path / (name + ".npz")))


def test_samples_of_what_was_too_large(tmp_path):
    """Samples are held to the largest value of the whole, on both sides or one; equal digests are the same."""
    old = np.ones([50, 100], np.float32)
    old[0, 1] = 1000.0   # not among the samples
    new = old.copy()
    new[49, 99] += np.float32(4e-3)
    then = sampled(tmp_path, "then", old)
    for now in (sampled(tmp_path, "now", new), recording(tmp_path, "whole", [("y", new)])):
        result = compare(now, then)
        assert result.same and 0.7 < result.worst < 0.9
    assert compare(then, recording(tmp_path, "whole", [("y", old)])).same
    assert compare(sampled(tmp_path, "same", old), then).worst == 0
    new[49, 99] += 1
    assert [one.kind for one in compare(sampled(tmp_path, "other", new), then).differences] == ["values"]


def test_notes_of_what_is_worth_knowing(tmp_path):
    """Fetches that were turned or renamed, variables replayed or gone, random operations with seeds of their own."""
    old = recording(tmp_path, "old", [("b:0", VALUES), ("a:0", 2 * VALUES)], [("c:0", VALUES)])
    new = recording(tmp_path, "new", [("a:0", 2 * VALUES), ("b:0", VALUES)], [("z:0", VALUES)], seeds_unmatched=2)
    new.variables = [dict(session=0, name=name, replayed=replayed) for name, replayed in (("v:0", False), ("w:0", True))]
    result = compare(new, old)
    assert result.same and result.notes == [
        "in 1 runs the same names were fetched in another order than then, and were compared by name",
        "1 fetches have another name than then",
        "1 variables were given the initial values of then, as their own are chance; the first of them is w:0",
        "2 random operations are new, or elsewhere than then, and kept their own seeds"]
    assert compare(old, old).notes == []


def test_variables_that_are_gone_and_final_values(tmp_path):
    """A variable of then that is not there is a note; final values are compared only if both made as many runs."""
    def trained(name, runs, *variables):
        recorder = Recorder(["test"])
        for _ in range(runs):
            recorder._record(["y"], {}, [VALUES])
        recorder.meta.update(complete=True, error=None)
        recorder._variables = [{
            "session": 0, "name": variable, "initial": recorder._value(variable, VALUES, "initial/" + variable),
            "final": recorder._value(variable, np.float32(final), "final/" + variable)} for variable, final in variables]
        recorder.save(str(tmp_path / (name + ".npz")))
        return load(str(tmp_path / (name + ".npz")))

    old = trained("old", 2, ("v:0", 1.0), ("w:0", 2.0))
    result = compare(trained("new", 2, ("v:0", 3.0)), old)
    assert [(one.where, one.tensor.group) for one in result.differences] == [("final value of v:0", 2)]
    assert result.notes == ["1 variables of then are not there now, the first of them w:0"]
    assert [one.where for one in result.tensors] == ["initial value of v:0", "run 0, y", "run 1, y", "final value of v:0"]
    assert [one.group for one in result.tensors] == [-1, 0, 1, 2]
    assert [one.kind for one in compare(trained("short", 1, ("v:0", 3.0)), old).differences] == ["runs"]
    assert compare(trained("none", 2), old).notes == []   # what notes no variables at all has not lost any
    renamed = compare(trained("renamed", 2, ("u:0", 1.0), ("w:0", 2.0)), old, mapping={"v:0": "u:0"})
    assert renamed.same and renamed.compared == 6


def test_a_report_of_what_has_no_dtype(tmp_path):
    """None where an array was, as JSON has it; what was compared has its own."""
    new = recording(tmp_path, "new", [("path", None), ("y", VALUES)])
    old = recording(tmp_path, "old", [("path", VALUES), ("y", VALUES)])
    data = Report("x", compare(new, old), new, old).as_dict()
    assert [(one["where"], one["dtype"]) for one in data["tensors"]] == [("run 0, path", None), ("run 0, y", "float32")]
    assert json.loads(json.dumps(data))["verdict"] == "differs"
