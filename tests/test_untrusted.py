"""Arrays that nobody vouches for: what numpy writes is read as numpy reads it, and anything else is a ValueError."""
import io

import numpy as np
import pytest

from graphgrad.untrusted import read_array


def written(header, values=b"", version=1):
    """The bytes of a .npy with that header."""
    size = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode() + values


@pytest.mark.parametrize("version", [1, 2, 3])
def test_headers_that_numpy_writes(version):
    """In any order, in each version, with Python 2's long integers, Fortran's order too."""
    values = np.arange(6, dtype="<f4")
    data = written("{'shape': (2L, 3L), 'fortran_order': True, 'descr': '<f4', }\n", values.tobytes(), version)
    got = read_array(io.BytesIO(data), len(data))
    assert got.dtype == np.float32 and got.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("data, text", [
    (b"\x93NUMPY\x02\x00" + (1 << 17).to_bytes(4, "little") + b" " * (1 << 17), "its header is longer than any of numpy's"),
    (written("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", bytes(4)), "its header is none of an array of numbers"),
    (written("__import__('os').getcwd()", bytes(4)), "its header is none of an array of numbers"),
    (written("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", bytes(8)), "its header is none of an array of numbers"),
    (written("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", bytes(4)), "it claims 8 bytes of values, and has 4"),
    (written("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}")[:-9], "it ends early"),
    (b"\x93NUMPY\x04\x00", "no array of numpy's"), (b"", "it ends early"),
], ids=["long", "twice", "code", "objects", "claims", "cut", "version", "empty"])
def test_what_is_no_array(data, text):
    """Nothing in a header is evaluated."""
    with pytest.raises(ValueError, match=text):
        read_array(io.BytesIO(data), len(data))
