"""A notebook's code, as one script: cells in order, IPython's own lines left out."""
import json
import re

from ..errors import UsageError

_MAGIC = re.compile(r"^(\s*)(%|!|\?|[\w.]+\?\s*$)")


def source_of(text, path):
    """The Python source of a notebook.

    Args:
        text: the bytes of an .ipynb file, of format 3 or 4.
        path: its path, for the message.

    Raises:
        UsageError: it is no notebook, or holds no code.
    """
    cells = cells_of(text, path)
    if not any(cell.strip() for cell in cells):
        raise UsageError("The notebook {} holds no code.".format(path))
    return "\n".join(cells)


def cells_of(text, path):
    """The source of each code cell, with lines that only IPython understands commented out."""
    try:
        notebook = json.loads(text.decode("utf-8"))
        cells = notebook["cells"] if "cells" in notebook else [
            cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
        sources = [cell.get("source", cell.get("input", "")) for cell in cells if cell.get("cell_type") == "code"]
        return [_without_magic("".join(source)) for source in sources]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError("{} is not a notebook.".format(path)) from None


def _without_magic(cell):
    if cell.lstrip().startswith("%%"):
        first = cell.lstrip().split("\n", 1)
        if not first[0].startswith(("%%time", "%%capture", "%%prun")):
            return "\n".join("# " + line for line in cell.split("\n"))   # another language
    lines = []
    for line in cell.split("\n"):
        match = _MAGIC.match(line)
        lines.append("{}pass  # {}".format(match.group(1), line.strip()) if match else line)
    return "\n".join(lines)
