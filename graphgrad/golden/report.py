"""Comparisons as text: one, and a table of a whole folder."""

_SHOWN = 5


def comparison_text(result, title):
    """One Comparison in a few lines: the verdict, the first differences in the order of the runs, and notes."""
    if result.same:
        lines = ["{}: same: {} tensors, largest difference {} of what is allowed".format(
            title, result.compared, ratio_text(result.worst))]
    else:
        lines = ["{}: differs, first at {}".format(title, result.differences[0])]
        lines += ["  then {}".format(difference) for difference in result.differences[1:_SHOWN]]
        if len(result.differences) > _SHOWN:
            lines.append("  and {} more".format(len(result.differences) - _SHOWN))
    return "\n".join(lines + ["  note: {}".format(note) for note in result.notes])


def ratio_text(ratio):
    """A difference as a multiple of what is allowed."""
    return "0 (bit for bit)" if ratio == 0 else "{:.2g}".format(ratio)


class Row:
    """One script of a folder: its name, its new meta (or None), its Comparison (or None) and its verdict."""

    def __init__(self, name, verdict, meta=None, comparison=None, text=""):
        self.name = name
        self.verdict = verdict
        self.meta = meta
        self.comparison = comparison
        self.text = text

    @property
    def cells(self):
        """What the table says in a row, as (script, overridden, gradient, difference, verdict) lines."""
        overrides = (self.meta or {}).get("overrides") or []
        difference = ratio_text(self.comparison.worst) if self.comparison else "-"
        if not overrides:
            return [(self.name, "none", "-", difference, self.verdict)]
        rows = [("", "{} -> {}".format(entry["op_type"], _short(entry["tag"])),
                 "{} of {}".format(entry["differentiated"], entry["tagged"]), "", "") for entry in overrides]
        rows[0] = (self.name,) + rows[0][1:3] + (difference, self.verdict)
        return rows


def _short(tag, width=40):
    return tag if len(tag) <= width else tag[:width - 3] + "..."


def suite_table(rows):
    """The table of a folder: what was overridden, through how many of the tagged ops the gradient went, the verdict."""
    cells = [("script", "overridden", "gradient through", "difference / allowed", "verdict")]
    for row in rows:
        cells += row.cells
    widths = [max(len(cell[i]) for cell in cells) for i in range(5)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(cell, widths)).rstrip() for cell in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
