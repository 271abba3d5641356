"""Public TF 1 gradient code that is not ours: driven with fixed inputs, against its numbers on the TF it was made for.

The code is not kept here. Put each repository of pieces/pieces.json, at its commit, into a folder as OWNER+NAME and
name the folder in GRAPHGRAD_PIECES; then every piece runs. Without it the list and the numbers are checked.
"""
import ast
import json
import os
import re

import numpy as np
import pytest

from tests.legacy.conftest import graphgrad

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVES = {name: os.path.join(HERE, "pieces", name + ".py") for name in ("drive", "further")}
OLD = {}
for name in ("pieces", "further"):
    with np.load(os.path.join(HERE, "old", name + ".npz")) as numbers:
        OLD.update(numbers)
with open(os.path.join(HERE, "pieces", "pieces.json")) as stream:
    PIECES = json.load(stream)
FOLDER = os.environ.get("GRAPHGRAD_PIECES")


def drives(path):
    """The names in drive.py or further.py, without running it."""
    with open(path) as stream:
        tree = ast.parse(stream.read())
    table = [node.value for node in tree.body if isinstance(node, ast.Assign) and getattr(
        node.targets[0], "id", "") == "PIECES"][0]
    return [ast.literal_eval(key) for key in table.keys]


def keys(name):
    return sorted(key for key in OLD if key.rsplit("/", 1)[0] == name)


def test_the_list_is_whole():
    """Sixty pieces or more, each with repository, path and full commit; each has a drive and old numbers."""
    assert len(PIECES) >= 60
    assert sorted(piece["name"] for piece in PIECES) == sorted(name for path in DRIVES.values() for name in drives(path))
    for piece in PIECES:
        assert re.match(r"[\w.-]+/[\w.-]+$", piece["repository"]) and re.match(r"[0-9a-f]{40}$", piece["commit"])
        assert piece["path"].endswith(".py") and piece["tensorflow"] in ("0.12.1", "1.4.1", "1.15.5")
        assert ("tolerance" in piece) == ("why" in piece)
        assert keys(piece["name"]) and all(np.isfinite(OLD[key]).all() for key in keys(piece["name"]))


if FOLDER is not None:   # without the code there is nothing to run
    @pytest.fixture(scope="module")
    def new(tmp_path_factory):
        numbers, told = {}, []
        for name, drive in DRIVES.items():
            path = str(tmp_path_factory.mktemp("pieces") / (name + ".npz"))
            done = graphgrad("run", drive, "all", path, FOLDER)
            assert done.returncode == 0, done.stderr[-3000:]
            told += done.stderr.splitlines()
            with np.load(path) as made:
                numbers.update(made)
        return numbers, told

    @pytest.mark.parametrize("piece", PIECES, ids=[piece["name"] for piece in PIECES])
    def test_piece(new, piece):
        """Values and gradients are those of the TensorFlow that it was written for."""
        for key in keys(piece["name"]):
            assert key in new[0], [line for line in new[1] if line.startswith(piece["name"])]
            np.testing.assert_allclose(new[0][key], OLD[key], rtol=1e-5,
                                       atol=piece.get("tolerance", 5e-6) * np.abs(OLD[key]).max())
