"""Files that are written whole or not at all, whatever ends the writing."""
import contextlib
import os
import tempfile


@contextlib.contextmanager
def whole_file(path, mode="w", **options):
    """Open a file for writing that takes the place of ``path`` when the block is left without an error.

    Until then what is at ``path`` stays, and afterwards nothing is left beside it. A link is followed, permissions
    are kept, and what is no plain file (a pipe, /dev/stdout) is written to as it is.

    Args:
        path: str.
        mode: "w" or "wb".
        **options: of ``open``.

    Raises:
        OSError: it cannot be written.
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, **options) as stream:
            yield stream
        return
    descriptor, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=os.path.dirname(path))
    try:
        with open(descriptor, mode, **options) as stream:
            yield stream
        os.chmod(part, os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o666 & ~_mask())
        os.replace(part, path)
    except BaseException:
        os.remove(part)
        raise


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
