"""Public TF 1 gradient code that is not ours: driven with fixed inputs, against its numbers on TF 1.15.5.

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
DRIVE = os.path.join(HERE, "pieces", "drive.py")
OLD = np.load(os.path.join(HERE, "old", "pieces.npz"))
with open(os.path.join(HERE, "pieces", "pieces.json")) as stream:
    PIECES = json.load(stream)
FOLDER = os.environ.get("GRAPHGRAD_PIECES")


def drives():
    """The names in drive.py, without running it."""
    with open(DRIVE) as stream:
        tree = ast.parse(stream.read())
    table = [node.value for node in tree.body if isinstance(node, ast.Assign) and getattr(
        node.targets[0], "id", "") == "PIECES"][0]
    return [ast.literal_eval(key) for key in table.keys]


def keys(name):
    return sorted(key for key in OLD.files if key.rsplit("/", 1)[0] == name)


def test_the_list_is_whole():
    """Thirty pieces or more, each with repository, path and full commit; each has a drive and old numbers."""
    assert len(PIECES) >= 30
    assert sorted(piece["name"] for piece in PIECES) == sorted(drives())
    for piece in PIECES:
        assert re.match(r"[\w.-]+/[\w.-]+$", piece["repository"]) and re.match(r"[0-9a-f]{40}$", piece["commit"])
        assert piece["path"].endswith(".py") and piece["tensorflow"] == "1.15.5"
        assert keys(piece["name"]) and all(np.isfinite(OLD[key]).all() for key in keys(piece["name"]))


if FOLDER is not None:   # without the code there is nothing to run
    @pytest.fixture(scope="module")
    def new(tmp_path_factory):
        path = str(tmp_path_factory.mktemp("pieces") / "new.npz")
        done = graphgrad("run", DRIVE, "all", path, FOLDER)
        assert done.returncode == 0, done.stderr[-3000:]
        return np.load(path), done.stderr

    @pytest.mark.parametrize("name", [piece["name"] for piece in PIECES])
    def test_piece(new, name):
        """Values and gradients are those of TF 1.15.5."""
        for key in keys(name):
            assert key in new[0].files, [line for line in new[1].splitlines() if line.startswith(name)]
            np.testing.assert_allclose(new[0][key], OLD[key], rtol=1e-5, atol=5e-6 * np.abs(OLD[key]).max())
