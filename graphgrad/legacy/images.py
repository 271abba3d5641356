"""scipy.misc's picture functions, which SciPy 1.2 dropped, with PIL where that is installed."""
import importlib

import numpy as np

from .catalogue import GoneError

_KINDS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def _pil():
    try:
        return importlib.import_module("PIL.Image")   # optional: Pillow
    except ImportError:
        raise GoneError("scipy.misc's picture functions are gone since SciPy 1.2, and what graphgrad puts in their "
                        "place needs Pillow: pip install pillow.") from None


def imread(name, flatten=False, mode=None):
    """Read a picture as an array [height, width(, channels)] of uint8; ``flatten`` gives float32 grey values."""
    return fromimage(_pil().open(name), flatten, mode)


def fromimage(im, flatten=False, mode=None):
    """The array of a PIL image."""
    if mode is not None:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def bytescale(data, cmin=None, cmax=None, high=255, low=0):
    """Scale an array linearly from [cmin, cmax] (by default its range) to uint8 in [low, high]."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    scale = float(high - low) / ((cmax - cmin) or 1)
    return ((data - cmin) * scale + low).clip(low, high).__add__(0.5).astype(np.uint8)


def toimage(arr, high=255, low=0, cmin=None, cmax=None, pal=None, mode=None, channel_axis=None):
    """A PIL image of an array [height, width], or of three axes of which the first of size 3, or else 4, is channels.

    Scaled as ``bytescale`` does, but for modes F and I. In mode YCbCr or CMYK the channels are
    taken to be those already.
    """
    data = np.asarray(arr)
    if data.ndim == 2:
        return _plane(data, high, low, cmin, cmax, pal, mode)
    axes = [axis for size in (3, 4) for axis in range(data.ndim) if data.shape[axis] == size]
    if data.ndim != 3 or not axes:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    data = np.moveaxis(bytescale(data, cmin, cmax, high, low), axes[0] if channel_axis is None else channel_axis, 2)
    mode = mode or {3: "RGB", 4: "RGBA"}.get(data.shape[2])
    if {"RGB": 3, "YCbCr": 3, "RGBA": 4, "CMYK": 4}.get(mode) != data.shape[2]:
        raise ValueError("Invalid array shape for mode.")
    return _pil().frombytes(mode, data.shape[1::-1], data.tobytes())


def _plane(data, high, low, cmin, cmax, pal, mode):
    size = data.shape[::-1]
    if mode == "F":
        return _pil().frombytes(mode, size, data.astype(np.float32).tobytes())
    if mode == "I":
        cmin = data.min() if cmin is None else cmin
        cmax = data.max() if cmax is None else cmax
        scaled = (data * 1.0 - cmin) * (high - low) / (cmax - cmin) + low
        return _pil().frombytes(mode, size, scaled.astype(np.uint32).tobytes())
    if mode not in (None, "L", "P"):
        raise ValueError("Mode is unknown or incompatible with input array shape.")
    image = _pil().frombytes("L", size, bytescale(data, cmin, cmax, high, low).tobytes())
    if pal is not None or mode == "P":
        grey = np.arange(256, dtype=np.uint8)[:, None] * np.ones(3, np.uint8)
        image.putpalette(np.asarray(grey if pal is None else pal, np.uint8).tobytes())
    return image


def imsave(name, arr, format=None):
    """Write an array as a picture."""
    toimage(arr, channel_axis=2).save(name, **({"format": format} if format else {}))


def imresize(arr, size, interp="bilinear", mode=None):
    """Resize: ``size`` in per cent (int), a factor (float) or (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = tuple(int(side * size / 100.0) for side in image.size)
    elif isinstance(size, (float, np.floating)):
        size = tuple(int(side * size) for side in image.size)
    else:
        size = (int(size[1]), int(size[0]))
    return fromimage(image.resize(size, resample=_KINDS[interp]))


def imrotate(arr, angle, interp="bilinear"):
    """Rotate counter-clockwise by degrees, about the centre; the size stays."""
    return fromimage(toimage(arr).rotate(angle, resample=_KINDS[interp]))
