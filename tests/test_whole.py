"""Files that are written whole or not at all."""
import os
import stat
import threading

import numpy as np
import pytest

from graphgrad.golden.files import write
from graphgrad.whole import whole_file


@pytest.fixture
def masked():
    """A umask that others do not have."""
    before = os.umask(0o026)
    yield 0o026
    assert os.umask(before) == 0o026


def mode_of(path):
    return stat.S_IMODE(os.stat(str(path)).st_mode)


@pytest.mark.parametrize("mode, text", [("w", "text"), ("wb", b"bytes")])
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path, masked, mode, text):
    """What the umask leaves; and the umask stays as it was."""
    with whole_file(str(tmp_path / "new"), mode) as stream:
        stream.write(text)
    assert mode_of(tmp_path / "new") == 0o640 and (tmp_path / "new").read_bytes() in (b"text", b"bytes")
    assert os.umask(masked) == masked


def test_a_golden_file_has_them_too(tmp_path, masked):
    """Recordings are written by a file of their own, which old Pythons run."""
    write(str(tmp_path / "new.npz"), {"y": np.ones(2)})
    assert mode_of(tmp_path / "new.npz") == 0o640 and os.listdir(str(tmp_path)) == ["new.npz"]
    assert os.umask(masked) == masked


def test_a_file_that_is_there_keeps_its_permissions_and_its_links(tmp_path):
    """What a link leads to is replaced, and the link stays."""
    (tmp_path / "old").write_text("before")
    os.chmod(str(tmp_path / "old"), 0o604)
    os.symlink("old", str(tmp_path / "link"))
    with whole_file(str(tmp_path / "link")) as stream:
        stream.write("after")
        assert (tmp_path / "old").read_text() == "before"
    assert (tmp_path / "old").read_text() == "after" and mode_of(tmp_path / "old") == 0o604
    assert os.path.islink(str(tmp_path / "link")) and sorted(os.listdir(str(tmp_path))) == ["link", "old"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_what_was_there(tmp_path, kind):
    """And nothing beside it."""
    (tmp_path / "old").write_text("before")
    with pytest.raises(kind), whole_file(str(tmp_path / "old")) as stream:
        stream.write("half")
        raise kind()
    assert (tmp_path / "old").read_text() == "before" and os.listdir(str(tmp_path)) == ["old"]


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    """It is still one afterwards."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    with whole_file(path) as stream:
        stream.write("text")
    reader.join(10)
    assert read == ["text"] and stat.S_ISFIFO(os.stat(path).st_mode)
