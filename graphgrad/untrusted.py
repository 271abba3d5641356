"""Arrays (.npy, and in .npz archives) and JSON texts from files that nobody vouches for. numpy and Python alone.

Nothing in them is executed or evaluated, not even a header, and nobody's word is taken for how much memory to ask for:
an array is as long as its bytes, and what is packed may unfold to so many times its size and no more.
"""
import json
import re
import zipfile
import zlib

import numpy as np

#: What reading a damaged zip archive, array or JSON text raises, in Python's and numpy's several versions.
UNREADABLE = (KeyError, ValueError, TypeError, OverflowError, RecursionError, EOFError, OSError, NotImplementedError,
              IndexError, zipfile.BadZipFile, zlib.error)
_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 1 << 16
_PAIR = r"'(descr|fortran_order|shape)'\s*:\s*(?:'([<>=|]?[biufc]\d{1,2})'|(True|False)|\(([\d,\sL]*)\))\s*"
_HEADER = re.compile(r"\{\s*" + _PAIR + "," + r"\s*" + _PAIR + "," + r"\s*" + _PAIR + r",?\s*\}\s*\Z")
_BLOCK = 1 << 20
_UNPACKED = 1 << 26        # bytes that any entry of an archive may have,
_MOST_GAIN = 100           # and how many times its packed size, if that is more
_LONGEST_NUMBER = 400


def read_array(stream, size):
    """Read one array of numbers or booleans, in .npy form.

    Args:
        stream: a binary stream.
        size: how many bytes it has left.

    Returns:
        An array of integer, float, complex or bool dtype.

    Raises:
        ValueError: it is no such array, or not of the length that it claims.
    """
    head = _exactly(stream, 8)
    if head[:6] != _MAGIC or head[6] not in (1, 2, 3):
        raise ValueError("no array of numpy's")
    wide = 2 if head[6] == 1 else 4
    length = int.from_bytes(_exactly(stream, wide), "little")
    if length > _LONGEST_HEADER:
        raise ValueError("its header is longer than any of numpy's")
    dtype, fortran, shape = _header(_exactly(stream, length))
    count = 1
    for extent in shape:
        count *= extent
    left = size - 8 - wide - length
    if count * dtype.itemsize != left:
        raise ValueError("it claims {} bytes of values, and has {}".format(count * dtype.itemsize, left))
    values = np.empty(count, dtype)
    if count:
        place = memoryview(values.view(np.uint8))
        for start in range(0, len(place), _BLOCK):
            block = _exactly(stream, min(_BLOCK, len(place) - start))
            place[start:start + len(block)] = block
    return values.reshape(shape, order="F" if fortran else "C")


def _header(data):
    found = _HEADER.match(data.decode("latin-1"))
    if found is None:
        raise ValueError("its header is none of an array of numbers")
    groups = found.groups()
    fields = {groups[place]: groups[place + 1:place + 4] for place in range(0, len(groups), 4)}
    descr, order, shape = (fields.get(name, (None,) * 3)[place] for place, name in enumerate(
        ("descr", "fortran_order", "shape")))
    if descr is None or order is None or shape is None:
        raise ValueError("its header is none of an array of numbers")
    return np.dtype(descr), order == "True", tuple(int(word.strip(" \n\tL")) for word in shape.split(",")
                                                  if word.strip())


def _exactly(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise ValueError("it ends early")
    return data


def entry_size(info, whole):
    """The unpacked size of an entry of a zip archive, checked before it is opened.

    Args:
        info: its zipfile.ZipInfo.
        whole: the size of the archive's file.

    Raises:
        ValueError: it is encrypted, packed in another way than numpy's, or unfolds to more than it may.
    """
    if info.flag_bits & 1:
        raise ValueError("it is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed in a way that numpy does not use")
    if info.file_size > max(_UNPACKED, _MOST_GAIN * min(info.compress_size, whole)):
        raise ValueError("{!r} unfolds from {} bytes to {}".format(info.filename, info.compress_size, info.file_size))
    return info.file_size


def parse_json(data):
    """What a JSON text of UTF-8 bytes says; ValueError (or another of UNREADABLE) if it is none."""
    return json.loads(data.decode("utf-8"), parse_int=_integer)


def _integer(digits):
    if len(digits) > _LONGEST_NUMBER:   # Python before 3.11 would take minutes over a long one
        raise ValueError("a number in it is longer than any that is meant")
    return int(digits)
