"""Folders of scripts, and the search for the first tensor that differs, where something is missing."""
import io
import json
import os
import stat
import sys

import numpy as np
import pytest

from graphgrad.cli import main
from graphgrad.golden.recorder import Recorder

SCRIPT = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
y = tf.multiply(w, 2.0, name="y")
with tf.Session() as session:
    session.run(w.initializer)
    session.run(y)
"""


class Terminal(io.StringIO):
    """What stderr is in front of a person."""

    def isatty(self):
        return True


@pytest.fixture
def folder(tmp_path):
    """Two scripts without old results, and an old result without a script: nothing in it is run."""
    (tmp_path / "old_results").mkdir()
    for name in ("one", "two"):
        (tmp_path / (name + ".py")).write_text(SCRIPT)
    (tmp_path / "old_results" / "orphan.npz").write_bytes(b"")
    (tmp_path / "old_results" / "notes.txt").write_text("how they were made")
    return tmp_path


def test_a_folder_on_a_terminal(folder, monkeypatch, capsys):
    """A bar that fills; what has no counterpart is in the table and in the reports; status 1."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    path, page = str(folder / "report.json"), str(folder / "report.html")
    assert main(["compare", str(folder), "--json", path, "--html", page]) == 1
    bars = sys.stderr.getvalue().split("\r")[1:]
    assert [bar[:36].rstrip() for bar in bars] == [
        "[" + "#" * 15 + "." * 15 + "] 1/2", "[" + "#" * 30 + "] 2/2"] and bars[-1].endswith("\n")
    with open(path) as stream:
        reports = {report["title"]: report for report in json.load(stream)}
    assert {name: report["verdict"] for name, report in reports.items()} == {
        "one.py": "failed", "two.py": "failed", "old_results/orphan.npz": "failed"}
    assert "There is no result file" in reports["one.py"]["failure"] and "new" not in reports["one.py"]
    text = capsys.readouterr().out
    assert "old_results/orphan.npz: no script has this name" in text and "0 of 2 scripts" not in text
    with open(page) as stream:
        assert stream.read().count("<h2>") == 3


@pytest.mark.parametrize("empty, words, text", [
    ("one.py two.py", [], "holds no script, so there is nothing to compare"),
    ("old_results", [], "has no folder old_results to compare its scripts with"),
    ("", ["old.npz"], "a folder is compared with its own old_results, not with old.npz"),
    ("", ["--map", "w:0"], "A name is given as OLD=NEW; 'w:0' came."),
])
def test_folders_that_cannot_be_compared(folder, empty, words, text, capsys):
    """One sentence, exit status 2."""
    for name in empty.split():
        os.rename(str(folder / name), str(folder.parent / ("moved_" + name)))
    assert main(["compare", str(folder)] + words) == 2
    error = capsys.readouterr().err
    assert text in error and len(error.splitlines()) == 1


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_no_jobs(jobs, capsys):
    """Refused by the command line."""
    with pytest.raises(SystemExit) as raised:
        main(["compare", "folder", "-j", jobs])
    assert raised.value.code == 2 and "must be 1 or more" in capsys.readouterr().err


def recorded(path, w, y):
    """An old result of SCRIPT, with these values."""
    recorder = Recorder()
    recorder._record(["w/Assign"], {}, [None])
    recorder._record(["y:0"], {}, [np.float32(y)])
    recorder._variables = [{"session": 0, "name": "w:0", "run": 0,
                            "initial": recorder._value("w:0", np.float32(w), "initial/00/0000")}]
    recorder.meta.update(complete=True, error=None)
    recorder.save(str(path))
    return str(path)


def test_a_bisection_without_an_end(tmp_path, capsys):
    """The other Python fails; what differs first is no result of a run."""
    (tmp_path / "s.py").write_text(SCRIPT)
    script = str(tmp_path / "s.py")
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 'no TensorFlow here' >&2\nexit 1\n")
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    old = recorded(tmp_path / "old.npz", [1, 2], [2, 5])
    assert main(["compare", script, old, "--bisect", str(other)]) == 2
    assert "cannot record {}: no TensorFlow here".format(script) in capsys.readouterr().err
    assert main(["compare", script, recorded(tmp_path / "other.npz", [1, 3], [2, 6]), "--bisect", str(other)]) == 1
    assert "note: bisect: what differs first is no result of a run" in capsys.readouterr().out
