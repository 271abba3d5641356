"""What a comparison found, as text of one screen, JSON, and JUnit XML; ``page`` makes the HTML of it."""
import json
from typing import Any, Dict, Iterable, Optional, Sequence
from xml.sax.saxutils import escape, quoteattr

from .compare import Comparison
from .explain import explain
from .recording import Recording

_SHOWN = 5


class Report:
    """One comparison with what explains it.

    Args:
        title: what was compared, for headings.
        comparison: the Comparison; None if there was nothing to compare.
        new: the new Recording, or None.
        old: the old Recording, or None.
        failure: str, why there was nothing to compare.

    Attributes:
        verdict: "same", "differs" or "failed".
        reasons: list of str, what explains the first difference.
    """

    def __init__(self, title: str, comparison: Optional[Comparison], new: Optional[Recording] = None,
                 old: Optional[Recording] = None, failure: Optional[str] = None) -> None:
        self.title = title
        self.comparison = comparison
        self.new = new
        self.old = old
        self.failure = failure
        self.verdict = "failed" if comparison is None else "same" if comparison.same else "differs"
        explainable = comparison is not None and new is not None and not comparison.same
        self.reasons = explain(comparison, new, old) if explainable else []

    def close(self) -> None:
        """Close the files behind it."""
        for recording in (self.new, self.old):
            if recording is not None:
                recording.close()

    def text(self) -> str:
        """The verdict, the first differences, what explains them, and notes."""
        if self.comparison is None:
            return _legal("{}: {}".format(self.title, self.failure))
        return _legal(comparison_text(self.comparison, self.title, self.reasons))

    def as_dict(self) -> Dict[str, Any]:
        """The same, with every tensor, as what JSON can hold."""
        data = {"title": self.title, "verdict": self.verdict, "reasons": self.reasons, "failure": self.failure}
        if self.comparison is not None:
            data.update(
                notes=self.comparison.notes, worst=_finite(self.comparison.worst),
                differences=[{"where": one.where, "kind": one.kind, "text": one.text}
                             for one in self.comparison.differences],
                tensors=[{"where": one.where, "dtype": one.dtype, "tolerance": one.tolerance,
                          "ratio": _finite(one.ratio), "largest": _finite(one.largest)}
                         for one in self.comparison.tensors])
        for name, recording in (("new", self.new), ("old", self.old)):
            if recording is not None:
                keys = ("tensorflow", "numpy", "python", "platform", "threads", "onednn", "environment",
                        "script_sha256")
                data[name] = {key: recording.meta.get(key) for key in keys}
        return data


def _finite(number):
    return number if number < float("inf") else None


def comparison_text(result: Comparison, title: str, reasons: Sequence[str] = ()) -> str:
    """One Comparison in a few lines: the verdict, the first differences in the order of the runs, reasons, notes.

    Args:
        result: the Comparison.
        title: str, what was compared.
        reasons: what explains the first difference, a str each.
    """
    if result.same:
        lines = ["{}: same: {} tensors, largest difference {} of what is allowed".format(
            title, result.compared, ratio_text(result.worst))]
    else:
        lines = ["{}: differs, first at {}".format(title, result.differences[0])]
        lines += ["  why: {}".format(reason) for reason in reasons]
        lines += ["  then {}".format(difference) for difference in result.differences[1:_SHOWN]]
        if len(result.differences) > _SHOWN:
            lines.append("  and {} more".format(len(result.differences) - _SHOWN))
    return "\n".join(lines + ["  note: {}".format(note) for note in result.notes])


def ratio_text(ratio):
    """A difference as a multiple of what is allowed."""
    return "0 (the same values)" if ratio == 0 else "{:.2g}".format(ratio)


def json_text(reports):
    """All Reports as one JSON text."""
    return json.dumps([report.as_dict() for report in reports], indent=1, sort_keys=True) + "\n"


def junit_text(reports):
    """All Reports as one JUnit XML text, a test case each."""
    bad = sum(report.verdict == "differs" for report in reports)
    failed = sum(report.verdict == "failed" for report in reports)
    lines = ['<?xml version="1.0" encoding="utf-8"?>',
             '<testsuite name="graphgrad compare" tests="{}" failures="{}" errors="{}">'.format(
                 len(reports), bad, failed)]
    for report in reports:
        lines.append("  <testcase classname=\"graphgrad\" name={}>".format(quoteattr(_legal(report.title))))
        if report.verdict != "same":
            lines.append("    <{0}>{1}</{0}>".format(
                "failure" if report.verdict == "differs" else "error", escape(_legal(report.text()))))
        lines.append("  </testcase>")
    return "\n".join(lines + ["</testsuite>", ""])


def _legal(text):
    """Without control characters, which XML does not allow, and which a terminal obeys wherever they come from."""
    return "".join(letter if (letter >= " " and not "\x7f" <= letter <= "\x9f") or letter in "\t\n" else "?"
                   for letter in text)


class Row:
    """One script of a folder: its name, its verdict, its new meta (or None) and its Report (or None)."""

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


def suite_table(rows: Iterable[Any]) -> str:
    """The table of a folder: what was overridden, through how many of the tagged ops the gradient went, the verdict.

    Args:
        rows: a Row per script.
    """
    cells = [("script", "overridden", "gradient through", "difference / allowed", "verdict")]
    for row in rows:
        cells += row.cells
    widths = [max(len(cell[i]) for cell in cells) for i in range(5)]
    lines = ["  ".join(_legal(text).ljust(width) for text, width in zip(cell, widths)).rstrip() for cell in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
