"""Compare two recordings, with numpy alone: names, kinds, dtypes, shapes, NaN and infinities, values, in that order."""
import re
from typing import List, Mapping, Optional

import numpy as np

from .._types import ToleranceMap
from ..errors import UsageError
from .names import match, match_lists
from .recorder import sample_places
from .recording import Recording, load
from .tolerances import Tolerances
from .values import compare_values

__all__ = ["Comparison", "Difference", "Tensor", "compare", "load"]


class Difference:
    """One thing that differs: ``where`` ("run 3, relu:0"), ``kind`` ("values", "dtype", ...) and ``text``."""

    def __init__(self, where, kind, text, tensor=None):
        self.where = where
        self.kind = kind
        self.text = text
        self.tensor = tensor

    def __str__(self):
        return "{}: {}".format(self.where, self.text)


class Tensor:
    """One tensor that was compared.

    Attributes:
        where: such as "run 3, relu:0".
        group: the number of the run; -1 for initial values of variables, the number of runs for final ones.
        name: its old name.
        dtype: its old dtype.
        tolerance: (relative, normwise), or None for equality.
        ratio: the difference as a multiple of what is allowed; infinite where it has another dtype, shape or kind.
        largest: the largest absolute difference.
        keys: (key of the new array, key of the old array), or None.
    """

    def __init__(self, where, group, name):
        self.where = where
        self.group = group
        self.name = name
        self.dtype = None
        self.tolerance = None
        self.ratio = 0.0
        self.largest = 0.0
        self.keys = None


class Comparison:
    """The outcome of comparing a new recording with an old one.

    Attributes:
        differences: Differences in the order of the runs, within a run in the order of the graph: the first is where
            the two part.
        tensors: every Tensor that was compared, in the same order.
        notes: str, what is no difference but worth knowing (names that changed).
        compared: how many tensors were.
        worst: the largest difference as a multiple of what is allowed; 0 for bit for bit the same.
        worst_where: where that is.
        same: whether nothing differs.
    """

    def __init__(self) -> None:
        self.differences: List[Difference] = []
        self.tensors: List[Tensor] = []
        self.notes: List[str] = []

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    @property
    def compared(self) -> int:
        """How many tensors were compared."""
        return len(self.tensors)

    @property
    def worst(self) -> float:
        """The largest difference as a multiple of what is allowed."""
        return max([tensor.ratio for tensor in self.tensors] or [0.0])

    @property
    def worst_where(self) -> Optional[str]:
        """Where the largest difference is."""
        return max(self.tensors, key=lambda tensor: tensor.ratio).where if self.tensors else None

    @property
    def largest(self) -> float:
        """The largest absolute difference."""
        return max([tensor.largest for tensor in self.tensors] or [0.0])

    def add(self, where: str, kind: str, text: str, tensor: Optional[Tensor] = None) -> None:
        """Note a difference."""
        self.differences.append(Difference(where, kind, text, tensor))
        if tensor is not None:
            tensor.ratio = max(tensor.ratio, float("inf") if kind != "values" else tensor.ratio)


def compare(new: Recording, old: Recording, mapping: Optional[Mapping[str, str]] = None,
            tolerances: Optional[ToleranceMap] = None, any_arguments: bool = False) -> Comparison:
    """Compare two Recordings.

    Args:
        new: a Recording.
        old: the Recording that it is compared with.
        mapping: {old name: new name} for what cannot be matched otherwise.
        tolerances: {pattern or dtype: (relative, normwise)}, on top of those stored in the old recording.
        any_arguments: compare also if the scripts were given other arguments.

    Returns:
        A Comparison. Fetches of a run are paired by their names, then by what TensorFlow renamed, then by their places.

    Raises:
        UsageError: the two are of scripts that were given other arguments.
    """
    _check_arguments(new, old, any_arguments)
    result = Comparison()
    settings = dict(old.meta.get("tolerances") or {})
    settings.update(tolerances or {})
    work = _Work(result, new, old, Tolerances(settings), mapping)
    for recording, which in ((new, "new"), (old, "old")):
        if not recording.meta.get("complete"):
            result.add("{} recording".format(which), "incomplete", "it is incomplete ({})".format(
                recording.meta.get("error")))
    if not old.runs:
        result.add("old recording", "empty", "it holds no Session.run at all, so there is nothing to compare")
    work.variables("initial", -1)
    if len(new.runs) != len(old.runs):
        result.add("session runs", "runs", "{} now, {} in the old recording".format(len(new.runs), len(old.runs)))
    for number, (new_run, old_run) in enumerate(zip(new.runs, old.runs)):
        if not new_run.get("skipped") and not old_run.get("skipped"):
            work.run(number, new_run, old_run)
    if len(new.runs) == len(old.runs):
        work.variables("final", len(old.runs))
    work.finish()
    return result


def _check_arguments(new, old, any_arguments):
    now, then = new.meta.get("arguments"), old.meta.get("arguments")
    if not any_arguments and now is not None and then is not None and now != then:
        raise UsageError("The script was given the arguments {} now and {} then, so the two cannot be compared: give "
                         "it the same, or --any-arguments.".format(_listed(now), _listed(then)))


def _listed(words):
    return " ".join(words) if words else "(none)"


class _Work:
    """A comparison while it is made."""

    def __init__(self, result, new, old, tolerances, mapping):
        self.result = result
        self.new = new
        self.old = old
        self.tolerances = tolerances
        self.mapping = mapping
        self.renamed = 0
        self.turned = 0
        self.place = {}
        for graph in old.graphs[::-1]:
            self.place.update((node[0], place) for place, node in enumerate(graph.get("nodes", [])))

    def variables(self, when, group):
        """Compare the initial or the final values of the variables that both have."""
        sessions = sorted({variable["session"] for variable in self.old.variables})
        for session in sessions:
            sides = [[one for one in recording.variables if one["session"] == session and when in one]
                     for recording in (self.new, self.old)]
            pairs, gone, _ = match(*([variable["name"] for variable in side] for side in sides), mapping=self.mapping)
            if gone and when == "initial" and sides[0]:
                self.result.notes.append("{} variables of then are not there now, the first of them {}".format(
                    len(gone), sides[1][gone[0]]["name"]))
            for new_place, old_place in pairs:
                new_one, old_one = sides[0][new_place], sides[1][old_place]
                self.entry(group, "{} value of {}".format(when, old_one["name"]), new_one[when], old_one[when])

    def run(self, number, new_run, old_run):
        """Compare one run: what was fed, then what was fetched."""
        where = "run {}".format(number)
        if self._feeds_differ(number, new_run["feeds"], old_run["feeds"]):
            self.result.add(where, "feeds", "the inputs that were fed differ, so the results cannot be compared")
            return
        pairs = self._pairs(new_run["fetches"], old_run["fetches"])
        # Of two versions' intermediate tensors those are compared that both have.
        whole = "intermediates" not in old_run or "intermediates" not in new_run
        if whole and len(new_run["fetches"]) != len(old_run["fetches"]):
            paired = {old for _, old in pairs}
            gone = [entry["name"] for place, entry in enumerate(old_run["fetches"]) if place not in paired]
            paired = {new for new, _ in pairs}
            added = [entry["name"] for place, entry in enumerate(new_run["fetches"]) if place not in paired]
            self.result.add(where, "fetches", "{} tensors fetched now, {} then{}{}".format(
                len(new_run["fetches"]), len(old_run["fetches"]),
                "; missing: " + ", ".join(gone[:3]) if gone else "", "; new: " + ", ".join(added[:3]) if added else ""))
        if not whole:
            pairs = [(a, b) for a, b in pairs if not self._another(new_run["fetches"][a], old_run["fetches"][b])]
        first = len(self.result.differences)
        for new_place, old_place in pairs:
            new_entry, old_entry = new_run["fetches"][new_place], old_run["fetches"][old_place]
            self.renamed += new_entry["name"] != old_entry["name"]
            self.entry(number, "{}, {}".format(where, old_entry["name"]), new_entry, old_entry)
        self.result.differences[first:] = sorted(self.result.differences[first:], key=self._graph_place)

    def _graph_place(self, difference):
        return self.place.get(difference.tensor.name.split(":")[0], len(self.place))

    def _pairs(self, new_entries, old_entries):
        sides = new_entries, old_entries
        pairs, _, _, turned = match_lists(
            *([entry["name"] for entry in side] for side in sides), mapping=self.mapping,
            shapes=[[(entry.get("dtype"), entry.get("shape")) for entry in side] for side in sides])
        self.turned += turned
        return pairs

    def _another(self, new, old):
        """Whether two intermediate tensors of one name are not the same: of numbered names, the shapes tell."""
        return re.search(r"_\d+(/|:|$)", old["name"]) is not None and new.get("shape") != old.get("shape")

    def _feeds_differ(self, number, new_feeds, old_feeds):
        inputs = _Work(Comparison(), self.new, self.old, self.tolerances, self.mapping)
        for new_place, old_place in inputs._pairs(new_feeds, old_feeds):
            inputs.entry(number, "", new_feeds[new_place], old_feeds[old_place])
        return bool(inputs.result.differences) or len(new_feeds) != len(old_feeds)

    def entry(self, group, where, new, old):
        """Compare one entry, with its parts."""
        if old["kind"] == "none" == new["kind"]:
            return   # an operation: nothing to compare
        if "parts" in old and "parts" in new and len(old["parts"]) == len(new["parts"]):
            for new_part, old_part in zip(new["parts"], old["parts"]):
                self.entry(group, "{}.{}".format(where, old_part["name"]), new_part, old_part)
            return
        tensor = Tensor(where, group, old["name"])
        self.result.tensors.append(tensor)
        self._compare(tensor, new, old)

    def _compare(self, tensor, new, old):
        add = self.result.add
        if "none" in (new["kind"], old["kind"]):
            add(tensor.where, "none", "{} now, {} then{}".format(
                self._or_none(self.new, new), self._or_none(self.old, old),
                ": None says that there is no path, which zeros do not"
                if "zeros" in (self._or_none(self.new, new), self._or_none(self.old, old)) else ""), tensor)
            return
        kinds = ["array" if entry["kind"] == "sampled" else entry["kind"] for entry in (new, old)]
        if kinds[0] != kinds[1]:
            add(tensor.where, "kind", "{} now, {} then".format(*kinds), tensor)
            return
        tensor.dtype = old["dtype"]
        if new["dtype"] != old["dtype"]:
            add(tensor.where, "dtype", "dtype {} now, {} then".format(new["dtype"], old["dtype"]), tensor)
        elif list(new["shape"]) != list(old["shape"]):
            add(tensor.where, "shape", "shape {} now, {} then".format(new["shape"], old["shape"]), tensor)
        elif old["kind"] == "strings":
            if new["values"] != old["values"]:
                wrong = [place for place, pair in enumerate(zip(new["values"], old["values"])) if pair[0] != pair[1]]
                tensor.ratio = float("inf")
                add(tensor.where, "values", "{} of {} strings differ; at [{}] it is {!r} now, {!r} then".format(
                    len(wrong), len(old["values"]), wrong[0], new["values"][wrong[0]], old["values"][wrong[0]]), tensor)
        elif new.get("digest") is None or new.get("digest") != old.get("digest"):
            self._compare_arrays(tensor, new, old)

    def _compare_arrays(self, tensor, new, old):
        tensor.keys = (new["key"], old["key"])
        tensor.tolerance = self.tolerances.of(tensor.name, old["dtype"])
        arrays = [self.new.array(new["key"]), self.old.array(old["key"])]
        if "digest" in old or "digest" in new:   # one side or both kept samples only
            for side, entry in enumerate((new, old)):
                if "digest" not in entry:
                    arrays[side] = arrays[side].reshape(-1)[sample_places(arrays[side].size)]
        outcome = compare_values(*arrays, tolerance=tensor.tolerance, largest=old.get("largest"))
        _say(self.result, tensor, outcome, *arrays)

    def _or_none(self, recording, entry):
        if entry["kind"] == "none":
            return "None"
        if "key" in entry and not np.any(recording.array(entry["key"])):
            return "zeros"
        return "a value"

    def finish(self):
        """Note what holds for the whole."""
        if self.turned:
            self.result.notes.append("in {} runs the same names were fetched in another order than then, and were "
                                     "compared by name".format(self.turned))
        if self.renamed:
            self.result.notes.append("{} fetches have another name than then".format(self.renamed))
        replaced = [variable["name"] for variable in self.new.variables if variable.get("replayed")]
        if replaced:
            self.result.notes.append("{} variables were given the initial values of then, as their own are chance; the "
                                     "first of them is {}".format(len(replaced), replaced[0]))
        if self.new.meta.get("seeds_unmatched"):
            self.result.notes.append("{} random operations are new, or elsewhere than then, and kept their own "
                                     "seeds".format(self.new.meta["seeds_unmatched"]))


def _say(result, tensor, outcome, new, old):
    tensor.ratio, tensor.largest = outcome.ratio, outcome.largest
    if outcome.odd is not None:
        result.add(tensor.where, "non-finite", "at {} it is {} now, {} then".format(
            list(outcome.odd), new[outcome.odd], old[outcome.odd]), tensor)
    elif outcome.ratio > 1:
        at = "at {} ".format(list(outcome.index)) if outcome.index else ""
        text = "{} of {} values differ; {}it is {!r} now, {!r} then, with {:.3g} allowed".format(
            outcome.wrong, old.size, at, new[outcome.index].item(), old[outcome.index].item(), outcome.allowed)
        result.add(tensor.where, "values", text, tensor)
