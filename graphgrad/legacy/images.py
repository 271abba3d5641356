"""scipy.misc's picture functions, which SciPy 1.2 dropped, with PIL where that is installed."""
import importlib

import numpy as np

from .catalogue import GoneError


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
    """A PIL image of an array, scaled as ``bytescale`` does."""
    data = np.asarray(arr)
    if data.ndim == 3 and channel_axis is not None:
        data = np.moveaxis(data, channel_axis, -1)
    elif data.ndim == 3 and data.shape[-1] not in (3, 4) and data.shape[0] in (3, 4):
        data = np.moveaxis(data, 0, -1)
    if mode == "F":
        return _pil().fromarray(data.astype(np.float32), mode="F")
    image = _pil().fromarray(bytescale(data, cmin, cmax, high, low))
    return image.convert(mode) if mode else image


def imsave(name, arr, format=None):
    """Write an array as a picture."""
    toimage(arr).save(name, **({"format": format} if format else {}))


def imresize(arr, size, interp="bilinear", mode=None):
    """Resize: ``size`` in per cent (int), a factor (float) or (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = tuple(int(side * size / 100.0) for side in image.size)
    elif isinstance(size, (float, np.floating)):
        size = tuple(int(side * size) for side in image.size)
    else:
        size = (int(size[1]), int(size[0]))
    kinds = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}
    return fromimage(image.resize(size, resample=kinds[interp]))
