"""Golden files in tests: the pytest fixture, the TestCase mixin, assert_matches."""
import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow

import graphgrad as gg
from graphgrad.golden import GoldenTestCase, load
from graphgrad.golden.files import check, report, write

tf = tensorflow.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(gg.__file__)))

MODULE = """
import numpy as np
VALUE = {value}
def test_one(golden):
    golden.check("one", {{"a": np.float32([1, 2, VALUE]), "none": None}})
def test_two(golden):
    golden.check("two", [np.arange(3), [1.0, 2.0]], tolerances={{"1": (0.5, 0)}})
"""


def pytest_run(folder, *words):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "graphgrad.golden.plugin", "-p", "no:cacheprovider",
                           "-W", "error"] + list(words), cwd=str(folder), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, env=dict(os.environ, PYTHONPATH=ROOT))
    return done.returncode, done.stdout


def test_the_fixture(tmp_path):
    """First run writes and fails; then it passes; a change fails with the difference and is kept beside; updates accept."""
    module = tmp_path / "test_it.py"
    module.write_text(MODULE.format(value=3))
    files = tmp_path / "golden" / "test_it"
    status, text = pytest_run(tmp_path)
    assert status == 1 and "There was no golden file golden/test_it/one.npz: it is written now." in text, text
    assert sorted(os.listdir(str(files))) == ["one.npz", "two.npz"]
    assert pytest_run(tmp_path)[0] == 0

    module.write_text(MODULE.format(value=4))
    for words in ((), ("--golden-update-new",)):
        status, text = pytest_run(tmp_path, *words)
        assert status == 1 and "1 failed, 1 passed" in text, text
        assert "golden/test_it/one.npz: differs, first at run 0, a: 1 of 3 values differ; at [2] it is 4.0 now, 3.0 then" in text
        assert "what came is in golden/test_it/one.obtained.npz; --golden-update accepts it" in text
    assert sorted(os.listdir(str(files))) == ["one.npz", "one.obtained.npz", "two.npz"]
    assert pytest_run(tmp_path, "--golden-update")[0] == 0
    assert sorted(os.listdir(str(files))) == ["one.npz", "two.npz"]
    assert load(str(files / "two.npz")).meta["tolerances"] == {"1": [0.5, 0.0]}

    os.rename(str(files / "one.npz"), str(files / "old.npz"))
    status, text = pytest_run(tmp_path, "--golden-update-new")
    assert status == 0 and "golden files that no test has used" in text and "golden/test_it/old.npz" in text
    assert "no test has used" not in pytest_run(tmp_path, "-k", "one")[1]


def test_a_check_that_passes_writes_nothing(tmp_path):
    """It leaves the folder alone, which may be installed or shared; and takes away what a failed one has kept there."""
    path, folder = str(tmp_path / "golden" / "one.npz"), str(tmp_path / "golden")
    values = {"a": np.arange(3.0), "b": None, "c": np.array(["x", "y"])}
    with pytest.raises(AssertionError, match="There was no golden file"):
        check(path, values)
    os.utime(folder, (0, 0))
    check(path, values)
    assert os.stat(folder).st_mtime == 0
    with pytest.raises(AssertionError, match="differs, first at run 0, a"):
        check(path, dict(values, a=np.arange(3.0) + 1))
    assert sorted(os.listdir(folder)) == ["one.npz", "one.obtained.npz"]
    check(path, values)
    assert os.listdir(folder) == ["one.npz"]


def test_what_the_fixture_refuses(tmp_path):
    """A name that is a path, a name that another test has; and the stored tolerance holds."""
    (tmp_path / "test_it.py").write_text(
        "def test_path(golden):\n    golden.check('../x', 1.0)\n"
        "def test_first(golden):\n    golden.check('same', 1.0)\n"
        "def test_second(golden):\n    golden.check('same', 2.0)\n")
    text = pytest_run(tmp_path, "--golden-update-new")[1]
    assert "A golden name has letters, digits, _ . - [ ] only; '../x' came." in text
    assert "The golden name 'same' is that of test_it.py::test_first: give this test another." in text
    assert "2 failed, 1 passed" in text and os.listdir(str(tmp_path)).count("x.npz") == 0


def test_the_mixin(tmp_path, monkeypatch):
    """The same for tf.test.TestCase; the environment variable accepts."""
    monkeypatch.setattr(sys.modules[__name__], "__file__", str(tmp_path / "test_mixin.py"))
    monkeypatch.chdir(tmp_path)

    class Case(GoldenTestCase, tf.test.TestCase):
        value = 1.0

        def test(self):
            with tf.Graph().as_default(), tf.Session():
                self.assertMatchesGolden("grads", {"x": tf.constant(self.value), "none": None})

    def failures():
        result = unittest.TestResult()
        Case("test").run(result)
        assert not result.errors, result.errors
        return [text for _, text in result.failures]

    assert "There was no golden file" in failures()[0]
    assert failures() == []
    Case.value = 2.0
    monkeypatch.setenv("GRAPHGRAD_GOLDEN_UPDATE", "new")
    assert "run 0, x: 1 of 1 values differ; it is 2.0 now, 1.0 then" in failures()[0]
    monkeypatch.setenv("GRAPHGRAD_GOLDEN_UPDATE", "all")
    assert failures() == []
    monkeypatch.setenv("GRAPHGRAD_GOLDEN_UPDATE", "yes")
    with pytest.raises(gg.GraphGradError, match="must be 'new' or 'all'; it is 'yes'"):
        Case("test").debug()


ONE = np.float32([1.0, -2.0])


@pytest.mark.parametrize("new", [ONE, ONE + np.float32(1e-5), tensorflow.constant(ONE)], ids=["same", "rounded", "eager"])
def test_matches(new):
    """The same, rounding, and another container of the same values."""
    gg.assert_matches(new, ONE)
    gg.assert_matches({"b": [new, None], "a": 1}, {"a": 1, "b": [ONE, None]})


@pytest.mark.parametrize("new, old, text", [
    (-ONE, ONE, "why: value has the other sign"),
    (ONE.astype(np.float64), ONE, "dtype float64 now, float32 then"),
    (None, 0 * ONE, "None now, zeros then: None says that there is no path, which zeros do not"),
    (0 * ONE, None, "zeros now, None then"),
    ([ONE, ONE], [ONE], "2 tensors fetched now, 1 then; new: 1"),
    ({"a": ONE}, {"a": ONE, "b": ONE}, "1 tensors fetched now, 2 then; missing: b"),
], ids=["sign", "dtype", "none", "zeros", "more", "fewer"])
def test_does_not_match(new, old, text):
    """What differs is said, and why."""
    with pytest.raises(AssertionError) as error:
        gg.assert_matches(new, old)
    assert text in str(error.value)


def test_matches_with_names_tolerances_and_files(tmp_path):
    """Names that TensorFlow or the user changed; tolerances by name, pattern and dtype; recordings by their paths."""
    with pytest.raises(AssertionError):
        gg.assert_matches(1.01 * ONE, ONE)
    for pattern in ("value", "val*", "float32"):
        gg.assert_matches(1.01 * ONE, ONE, tolerances={pattern: (0.02, 0)})
    gg.assert_matches({"AddV2": ONE, "x/dense/kernel:0": -ONE}, {"Add": ONE, "dense/kernel": -ONE})
    gg.assert_matches({"new": ONE, "a": 2 * ONE}, {"old": ONE, "z": 2 * ONE}, mapping={"old": "new", "z": "a"})
    from graphgrad.golden.files import write
    write(str(tmp_path / "old.npz"), {"value": ONE})
    gg.assert_matches(ONE, str(tmp_path / "old.npz"))
    with pytest.raises(gg.ResultFileError, match="is not the path of a recording"):
        gg.assert_matches(ONE, "old.pkl")
    with pytest.raises(gg.GraphGradError, match="must be two numbers from 0"):
        gg.assert_matches(ONE, ONE, tolerances={"value": (-1, 0)})


def test_tensors_of_a_graph_need_a_session():
    """They are run in the default one; without, it is said what to do."""
    with tf.Graph().as_default():
        x = tf.constant(ONE)
        with pytest.raises(gg.GraphGradError, match="There is no default session to run the tensors"):
            gg.assert_matches({"x": x}, {"x": ONE})
        with tf.Session():
            gg.assert_matches({"x": x, "gradient": tf.gradients(x, [tf.constant(0.0)])[0]}, {"x": ONE, "gradient": None})


@pytest.mark.parametrize("value", [1.0, 2.0])
def test_several_processes_check_one_golden_file(tmp_path, value):
    """Each is told what it has, not that a file of another's is gone; one obtained file is left, and only of what differs."""
    path = str(tmp_path / "kept.npz")
    write(path, {"y": np.float32(1.0)})

    def same(_):
        return [report(path, {"y": np.float32(value)}).verdict for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        told = sum(pool.map(same, range(8)), [])
    assert told == ["same" if value == 1.0 else "differs"] * 80
    assert sorted(os.listdir(str(tmp_path))) == ["kept.npz"] + ["kept.obtained.npz"] * (value == 2.0)


def test_one_value_of_a_large_array(tmp_path):
    """Golden files hold arrays whole, where recordings of scripts hold samples of what is over 100 MB."""
    path = str(tmp_path / "large.npz")
    array = np.zeros(101 << 20, np.int8)
    check(path, [array], update="new")
    array[-2] = 1
    with pytest.raises(AssertionError, match="105906174"):
        check(path, [array])
