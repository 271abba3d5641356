"""What the description in a recording must look like: checked once, when it is opened, and then relied on."""
import re

import numpy as np

from .recorder import sample_places

_DTYPE = re.compile(r"(bool|(u?int|float|complex)(8|16|32|64|128|256)|[<>][iufc]\d{1,2})\Z")
_WIDEST = 2 ** 63
_DEEPEST = 8


def well_formed(meta, runs):
    """Whether a description, and the list of its runs, are such as the recorder writes, of any of its versions."""
    return (_listed(runs, _is_run) and _listed(meta.get("variables", []), _is_variable)
            and _listed(meta.get("graphs", []), _is_graph) and _listed(meta.get("overrides", []), _is_override)
            and (meta.get("seeds") is None or _listed(meta["seeds"], _is_seed))
            and (meta.get("arguments") is None or _listed(meta["arguments"], _is_argument))
            and _mapped(meta.get("tolerances") or {}, _is_tolerance)
            and _mapped(meta.get("environment") or {}, _is_text)
            and all(_is_plain(value) for key, value in meta.items() if key not in (
                "variables", "graphs", "overrides", "seeds", "tolerances", "environment")))


def declared_arrays(meta, runs):
    """{key: (numpy dtype, shape)} of every array that well-formed entries name; None where two of them disagree."""
    found = {}
    for entry in _all_entries(meta, runs):
        if "key" not in entry:
            continue
        name = entry["dtype"] if _DTYPE.match(entry["dtype"]) else "float32"   # bfloat16 is kept as float32
        shape = tuple(entry["shape"])
        if entry["kind"] == "sampled":
            shape = (len(sample_places(_product(shape))),)
        declared = name, shape
        found[entry["key"]] = declared if found.get(entry["key"], declared) == declared else None
    return found


def _all_entries(meta, runs):
    front = [entry for run in runs for entry in run["fetches"] + run["feeds"]]
    front += [variable[when] for variable in meta.get("variables", []) for when in ("initial", "final")
              if when in variable]
    while front:
        entry = front.pop()
        yield entry
        front += entry.get("parts", ())


def _product(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


# One question each.

def _is_run(run):
    return (isinstance(run, dict) and _listed(run.get("fetches"), _is_entry) and _listed(run.get("feeds"), _is_entry)
            and isinstance(run.get("skipped", False), bool) and _is_integer(run.get("intermediates", 0)))


def _is_entry(entry, depth=0):
    if not (isinstance(entry, dict) and _is_text(entry.get("name")) and _is_text(entry.get("kind"))):
        return False
    if "parts" in entry:
        return depth < _DEEPEST and "key" not in entry and _listed(
            entry["parts"], lambda part: _is_entry(part, depth + 1))
    if entry["kind"] == "none":
        return "key" not in entry
    if not (_is_text(entry.get("dtype")) and _listed(entry.get("shape"), _is_extent)
            and _product(entry["shape"]) < _WIDEST):
        return False
    if entry["kind"] == "strings":
        return "key" not in entry and _listed(entry.get("values"), _is_text) and (
            len(entry["values"]) == _product(entry["shape"]))
    if entry["kind"] == "sampled" and not (
            _product(entry["shape"]) and _is_text(entry.get("digest")) and _is_number(entry.get("largest"))):
        return False
    return entry["kind"] in ("array", "sampled") and _is_text(entry.get("key"))


def _is_variable(variable):
    return (isinstance(variable, dict) and _is_text(variable.get("name")) and _is_integer(variable.get("session"))
            and _is_entry(variable.get("initial")) and _is_entry(variable.get("final", variable.get("initial"))))


def _is_graph(graph):
    if not (isinstance(graph, dict) and _mapped(graph.get("histogram", {}), _is_integer)
            and _mapped(graph.get("tags", {}), _is_text) and _listed(graph.get("random", []), _is_random)):
        return False
    nodes, forward = graph.get("nodes", []), graph.get("forward", [])
    if not isinstance(nodes, list):
        return False

    def is_place(value):
        return _is_integer(value) and 0 <= value < len(nodes)

    return (all(_row(node, _is_text, _is_text, lambda places: _listed(places, is_place)) for node in nodes)
            and _listed(forward, lambda pair: _row(pair, is_place, is_place)))


def _is_override(entry):
    return (isinstance(entry, dict) and _is_text(entry.get("op_type")) and _is_text(entry.get("tag"))
            and _is_integer(entry.get("tagged")) and _is_integer(entry.get("differentiated")))


def _is_random(entry):
    return _row(entry, _is_text, _is_text, _is_integer, _is_integer)


def _is_seed(entry):
    return _row(entry, _is_text, *[lambda value: value is None or _is_integer(value)] * 3)


def _is_tolerance(pair):
    return _row(pair, _is_number, _is_number)


def _is_argument(word):
    return _is_text(word) and "\0" not in word


def _is_plain(value):
    return value is None or isinstance(value, (bool, float)) or _is_integer(value) or _is_text(value) or (
        _listed(value, lambda item: item is None or _is_integer(item) or _is_text(item)))


def _is_text(value):
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:   # half of a pair of surrogates, which nothing can print
        return False
    return True


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool) and -_WIDEST <= value < _WIDEST


def _is_extent(value):
    return _is_integer(value) and value >= 0


def _is_number(value):
    return isinstance(value, float) or _is_integer(value)


def _row(value, *questions):
    return isinstance(value, list) and len(value) == len(questions) and all(
        question(item) for question, item in zip(questions, value))


def _listed(value, question):
    return isinstance(value, list) and all(map(question, value))


def _mapped(value, question):
    return isinstance(value, dict) and all(map(_is_text, value)) and all(map(question, value.values()))


def as_declared(array, declared):
    """Whether an array has the dtype and shape that the description gives it."""
    return declared is not None and array.shape == declared[1] and array.dtype == np.dtype(declared[0])
