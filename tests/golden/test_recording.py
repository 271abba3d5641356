"""Recordings whose description and arrays do not go together: each refused in a sentence, by what reads them."""
import io
import json
import zipfile

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.golden import compare, load
from graphgrad.golden.recorder import Recorder
from graphgrad.golden.replay import Replay


@pytest.fixture
def rewritten(tmp_path):
    """Write a recording with a change in its description, or other entries: fn(change, entries) -> path."""
    recorder = Recorder(max_bytes=100)
    recorder._record(["y:0", "big:0"], {}, [np.arange(4.0), np.arange(2000.0)])
    recorder._add("generators/numpy", np.arange(624, dtype=np.uint32))
    recorder._add("generators/python", np.full(625, 624, np.uint32))
    recorder.meta.update(complete=True, error=None, numpy_position=3, graphs=[{"histogram": {}, "nodes": [], "forward": []}])
    whole = str(tmp_path / "whole.npz")
    recorder.save(whole)

    def rewrite(change=lambda meta, runs: None, entries=None):
        with np.load(whole) as old:
            arrays = {name: old[name] for name in old.files}
        texts = [json.loads(arrays.pop(name).tobytes().decode()) for name in ("graphgrad", "runs/0000")]
        change(*texts)
        for name, text in zip(("graphgrad", "runs/0000"), texts):
            arrays[name] = np.frombuffer(json.dumps(text).encode(), np.uint8)
        arrays.update(entries or {})
        path = str(tmp_path / "rewritten.npz")
        np.savez(path, **arrays)
        return path

    return rewrite


def test_as_it_was(rewritten):
    """Without a change it is read, and compares as the same."""
    with load(rewritten()) as one, load(rewritten()) as other:
        assert compare(one, other).same and Replay(one).generators["numpy_position"] == 3


def test_the_first_format(rewritten):
    """It had its runs in the description itself."""
    def first(meta, runs):
        meta.update(format=1, runs=list(runs))
        runs.clear()

    with load(rewritten()) as new, load(rewritten(first)) as old:
        assert [entry["name"] for entry in old.runs[0]["fetches"]] == ["y:0", "big:0"] and compare(new, old).same


@pytest.mark.parametrize("change", [
    lambda meta, runs: runs[0]["fetches"][1].update(digest=5),
    lambda meta, runs: runs[0]["fetches"][1].update(shape=[0]),
    lambda meta, runs: meta["graphs"][0].update(nodes={}),
], ids=["digest", "nothing to sample", "nodes"])
def test_descriptions_of_another_kind(change, rewritten):
    """Found when the file is opened."""
    with pytest.raises(gg.ResultFileError, match="its description is of another kind"):
        load(rewritten(change))


def test_an_array_of_another_shape(rewritten):
    """Found when it is read."""
    with load(rewritten(entries={"run0000/000": np.arange(5.0)})) as recording:
        with pytest.raises(gg.ResultFileError, match="'run0000/000' cannot be read .*it is no array of the dtype and shape that"):
            recording.array("run0000/000")


def test_no_memory(rewritten, monkeypatch):
    """Said of the array, not of the process."""
    def exhausted(*_):
        raise MemoryError

    with load(rewritten()) as recording:
        monkeypatch.setattr("graphgrad.golden.recording.read_array", exhausted)
        with pytest.raises(gg.ResultFileError, match="the array 'run0000/000' is larger than the memory there is"):
            recording.array("run0000/000")


@pytest.mark.parametrize("name, value", [
    ("generators/numpy", np.zeros(3, np.uint32)), ("generators/python", np.full(625, 625, np.uint32)),
    ("generators/numpy", np.zeros(624, np.int64))])
def test_states_of_no_generator(name, value, rewritten):
    """Neither numpy nor Python is asked to take one."""
    with load(rewritten(entries={name: value})) as recording:
        with pytest.raises(gg.ResultFileError, match="is no state of theirs: the file is damaged"):
            Replay(recording)


@pytest.mark.parametrize("how, text", [("bzip2", "packed in a way that numpy does not use"), ("encrypted", "it is encrypted")])
def test_archives_of_another_kind(how, text, rewritten, tmp_path):
    """numpy packs in one way, and never encrypts."""
    made = io.BytesIO()
    with zipfile.ZipFile(rewritten()) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_BZIP2 if how == "bzip2" else 0) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    data = bytearray(made.getvalue())
    if how == "encrypted":
        place = -1
        while b"PK\x01\x02" in data[place + 1:]:
            place = data.index(b"PK\x01\x02", place + 1)
            data[place + 8] |= 1
    (tmp_path / "odd.npz").write_bytes(bytes(data))
    with pytest.raises(gg.ResultFileError, match=text):
        load(tmp_path / "odd.npz")
