"""A comparison as one HTML file with nothing outside it: pictures of old, new and difference, error along the graph."""
import base64
import html
import math
import struct
import zlib

import numpy as np

_PICTURES = 12
_SIDE = 192
_BARS = 400
_STYLE = """body{font:14px/1.4 system-ui,sans-serif;margin:2em auto;max-width:64em;padding:0 1em;color:#222}
table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left;vertical-align:top}h2{margin-top:2em}
img{image-rendering:pixelated;border:1px solid #bbb;width:192px}.same{color:#176e2c}.differs,.failed{color:#b3261e}
pre{white-space:pre-wrap;background:#f5f5f5;padding:.8em}figure{display:inline-block;margin:.5em 1em .5em 0}"""


def html_text(reports):
    """All Reports as one self-contained HTML page."""
    parts = ["<!doctype html><meta charset='utf-8'><title>graphgrad compare</title><style>{}</style>".format(_STYLE),
             "<h1>graphgrad compare</h1><table><tr><th>compared</th><th>verdict</th><th>difference / allowed</th></tr>"]
    for report in reports:
        worst = "{:.2g}".format(report.comparison.worst) if report.comparison is not None else "-"
        parts.append("<tr><td>{}</td><td class='{}'>{}</td><td>{}</td></tr>".format(
            html.escape(report.title), report.verdict, report.verdict, worst))
    parts.append("</table>")
    for report in reports:
        parts.append("<h2>{}</h2><pre>{}</pre>".format(html.escape(report.title), html.escape(report.text())))
        if report.comparison is not None:
            parts.append(_bars(report.comparison.tensors))
            parts += _pictures(report)
    return "\n".join(parts) + "\n"


def _bars(tensors):
    """The difference of each tensor as a multiple of what is allowed, in the order of the runs and the graph."""
    if not tensors:
        return ""
    step = max(1, math.ceil(len(tensors) / _BARS))
    groups = [tensors[i:i + step] for i in range(0, len(tensors), step)]
    bars = []
    for place, group in enumerate(groups):
        worst = max(group, key=lambda tensor: tensor.ratio)
        height = 40 + 10 * min(4, max(-4, math.log10(worst.ratio))) if worst.ratio else 1
        bars.append("<rect x='{:.1f}' y='{:.1f}' width='{:.2f}' height='{:.1f}' fill='{}'><title>{}: {:.2g}</title>"
                    "</rect>".format(800 * place / len(groups), 80 - height, 800 / len(groups) * 0.9, height,
                            "#b3261e" if worst.ratio > 1 else "#176e2c", html.escape(worst.where), worst.ratio))
    return ("<p>Difference / allowed along the runs and the graph (logarithmic; the line is 1):</p>"
            "<svg viewBox='0 0 800 80' width='100%' height='100'>{}<line x1='0' x2='800' y1='40' y2='40' stroke='#222' "
            "stroke-dasharray='4'/></svg>".format("".join(bars)))


def _pictures(report):
    shown = [difference for difference in report.comparison.differences
             if difference.tensor is not None and difference.tensor.keys is not None and difference.kind in (
                 "values", "non-finite")][:_PICTURES]
    for difference in shown:
        tensor = difference.tensor
        new, old = report.new.array(tensor.keys[0]), report.old.array(tensor.keys[1])
        if not old.size or new.shape != old.shape or old.dtype.kind == "c":
            continue
        new, old = _as_image(new), _as_image(old)
        with np.errstate(all="ignore"):
            both = np.abs(np.stack([new, old]))
            difference_image = new - old
        scale = _largest(both)
        yield "<h3>{}</h3><p>{}</p>".format(html.escape(difference.where), html.escape(difference.text))
        for name, image, size in (("old", old, scale), ("new", new, scale),
                                  ("difference", difference_image, _largest(difference_image))):
            yield ("<figure><img alt='{0}' src='data:image/png;base64,{1}'><figcaption>{0} (up to {2:.3g})</figcaption>"
                   "</figure>").format(name, base64.b64encode(png(heat(image, size))).decode("ascii"), size)


def _largest(values):
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def _as_image(values):
    """Two axes of at most 192 places: leading axes below each other, thinned out where there are more."""
    values = values.astype(np.float64)
    if values.ndim < 2:
        columns = max(1, math.ceil(math.sqrt(values.size)))
        flat = np.full(columns * math.ceil(values.size / columns), np.nan)
        flat[:values.size] = values.ravel()
        values = flat.reshape(-1, columns)
    values = values.reshape(-1, values.shape[-1])
    return values[::math.ceil(values.shape[0] / _SIDE), ::math.ceil(values.shape[1] / _SIDE)]


def heat(image, largest):
    """uint8 [height, width, 3]: blue below zero, red above, white at zero, grey where it is not finite."""
    with np.errstate(all="ignore"):
        level = np.clip(np.where(np.isfinite(image), image, 0) / (largest or 1.0), -1, 1)
    fade = 1 - np.abs(level)
    colours = np.stack([np.where(level < 0, fade, 1), fade, np.where(level > 0, fade, 1)], -1)
    colours[~np.isfinite(image)] = 0.5
    return (255 * colours).round().astype(np.uint8)


def png(pixels):
    """PNG bytes of uint8 [height, width, 3]."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + _chunk(
        b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
