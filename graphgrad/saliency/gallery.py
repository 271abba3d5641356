"""One HTML file with every panel in it: no script, no link to anywhere."""
import base64
import html

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font-family: sans-serif; margin: 2em; color: #222; background: #fff; }}
table {{ border-collapse: collapse; }}
td, th {{ padding: 0.5em; vertical-align: top; text-align: left; border-top: 1px solid #ccc; }}
img {{ display: block; max-width: 44em; image-rendering: pixelated; }}
pre {{ background: #f4f4f4; padding: 1em; overflow-x: auto; }}
.scale {{ display: inline-block; width: 12em; height: 1em; vertical-align: middle; background: linear-gradient(to right,
 #053061, #2166ac, #4393c3, #92c5de, #d1e5f0, #f7f7f7, #fddbc7, #f4a582, #d6604d, #b2182b, #67001f); }}
</style></head><body><h1>{title}</h1><pre>{summary}</pre>
<p>Each panel: the input, the map, the map over the input. Against the class <span class="scale"></span> for it; white
is zero. Each map is scaled by the 99th percentile of its own magnitude.</p>
<table><tr><th>input</th>{methods}</tr>
"""
_FOOT = "</table></body></html>\n"


def write(stream, title, summary, methods, rows):
    """Write the gallery; rows are taken one by one, so that memory holds one row's pictures.

    Args:
        stream: a text file open for writing.
        title: its heading.
        summary: text about the model and the methods, shown as it is.
        methods: the names of the columns.
        rows: iterable of (caption, [PNG bytes of each method]).
    """
    stream.write(_HEAD.format(title=html.escape(title), summary=html.escape(summary),
                              methods="".join("<th>{}</th>".format(html.escape(name)) for name in methods)))
    for caption, pictures in rows:
        stream.write("<tr><td>{}</td>".format("<br>".join(html.escape(line) for line in caption.split("\n"))))
        for name, picture in zip(methods, pictures):
            stream.write('<td><img alt="{}" src="data:image/png;base64,{}"></td>'.format(
                html.escape("{}, {}".format(name, caption.split("\n")[0]), quote=True),
                base64.b64encode(picture).decode()))
        stream.write("</tr>\n")
    stream.write(_FOOT)
