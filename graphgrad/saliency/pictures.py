"""Maps as pictures: diverging colours around zero, panels, PNG files. numpy and zlib only."""
import struct
import zlib

import numpy as np

from .resize import resize

#: ColorBrewer's RdBu, from -1 (blue) over 0 (white) to 1 (red): told apart with any common colour blindness.
_COLOURS = np.array([
    (5, 48, 97), (33, 102, 172), (67, 147, 195), (146, 197, 222), (209, 229, 240), (247, 247, 247),
    (253, 219, 199), (244, 165, 130), (214, 96, 77), (178, 24, 43), (103, 0, 31)]) / 255.0
_NOT_A_NUMBER = 0.6     # grey
_SMALLEST = 192         # pixels a side, for pictures of small inputs
_GAP = 8
_BETWEEN = 0.8          # light grey, which is neither white nor in the scale


def plane(values, spatial, channels_first=False):
    """A map as one plane [height, width]: channels are summed up, so that what cancels in colour cancels here.

    Args:
        values: a map of any rank.
        spatial: its number of spatial axes; 0 for tables: one row.
        channels_first: whether its channels are its first axis.
    """
    values = np.asarray(values, np.float64)
    if spatial and values.ndim > spatial:
        values = values.sum(0 if channels_first else -1)
    return values if values.ndim == 2 else values.reshape(1, -1) if values.ndim < 2 else values.reshape(
        -1, values.shape[-1])


def scaled(values, percentile=99.0):
    """A map from -1 to 1: divided by a percentile of its magnitude, and what is beyond cut off.

    One wild value does not make the rest white. Of a map of zeros, zeros; infinities are at the ends, NaN stays.
    """
    magnitudes = np.abs(values[np.isfinite(values)])
    top = np.percentile(magnitudes, percentile) if magnitudes.size else 0
    top = top or (magnitudes.max() if magnitudes.size else 0)
    with np.errstate(invalid="ignore"):
        return np.clip(values / top, -1, 1) if top else np.sign(values)


def coloured(values):
    """Values from -1 to 1 as RGB from 0 to 1; NaN is grey."""
    place = (np.nan_to_num(values) + 1) / 2 * (len(_COLOURS) - 1)
    low = np.clip(np.floor(place).astype(int), 0, len(_COLOURS) - 2)
    part = (place - low)[..., None]
    colours = _COLOURS[low] * (1 - part) + _COLOURS[low + 1] * part
    return np.where(np.isnan(values)[..., None], _NOT_A_NUMBER, colours)


def overlay(picture, values):
    """A picture in grey with the map's colours laid over it, the stronger the more opaque."""
    grey = picture.mean(-1, keepdims=True) * np.ones(3)
    opacity = np.sqrt(np.abs(np.nan_to_num(values)))[..., None]
    return grey * (1 - opacity) + coloured(values) * opacity


def panel(picture, values):
    """Original, map and overlay side by side, uint8 [height, width, 3]; the map alone where there is no picture.

    Args:
        picture: float [height, width, 3] from 0 to 1, or None.
        values: a map [height, width], of the picture's size or any other.
    """
    values = scaled(values)
    if picture is None:
        tiles = [coloured(values)]
    else:
        values = resize(values, picture.shape[:2])
        tiles = [picture, coloured(values), overlay(picture, values)]
    zoom = max(1, -(-_SMALLEST // max(tiles[0].shape[:2])))
    tiles = [np.repeat(np.repeat(np.clip(tile, 0, 1), zoom, 0), zoom, 1) for tile in tiles]
    gap = np.full((tiles[0].shape[0], _GAP, 3), _BETWEEN)
    row = tiles[:1]
    for tile in tiles[1:]:
        row += [gap, tile]
    return np.round(255 * np.concatenate(row, 1)).astype(np.uint8)


def png(pixels):
    """The bytes of a PNG file of uint8 [height, width, 3]."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], 1)   # 0: no filter

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) & 0xffffffff)

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)) + chunk(b"IEND", b""))
