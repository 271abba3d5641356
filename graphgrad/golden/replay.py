"""Give a script the chance of an old recording again: seeds, initial values, the states of its generators."""
import numpy as np

from ..errors import ResultFileError
from .names import match


class Replay:
    """What a Recorder asks while it replays.

    Args:
        recording: the old Recording.
        mapping: {old name: new name} of variables, where they cannot be matched otherwise.

    Attributes:
        unmatched: how many random operations of the new run had no counterpart in the old one.
        generators: the states of numpy's and Python's generators at the script's start; None if not recorded.
    """

    def __init__(self, recording, mapping=None):
        self._recording = recording
        self._mapping = mapping or {}
        self._left = [tuple(seed) for seed in recording.seeds] if recording.seeds is not None else None
        self.unmatched = 0
        self.generators = None
        if "numpy_position" in recording.meta:
            self.generators = {"numpy": recording.array("generators/numpy"),
                               "numpy_position": recording.meta["numpy_position"],
                               "python": recording.array("generators/python")}
            _check(recording, self.generators)

    def seed(self, scope, op_seed, own, graph):
        """(seed, seed2) for the next random operation.

        Args:
            scope: str, the name scope in which it is built.
            op_seed: what the script asked for; None if nothing.
            own: (seed, seed2) that this TensorFlow would take.
            graph: the graph it is built in.
        """
        if self._left is None:
            return _emulated(op_seed, own, graph)
        # TensorFlow's versions build other random operations in between, but in the same order in the same scopes.
        for same_scope in (lambda entry: entry[0] == scope, lambda entry: _last(entry[0]) == _last(scope)):
            for place, entry in enumerate(self._left):
                if same_scope(entry) and entry[1] == op_seed:
                    del self._left[place]
                    return entry[2], entry[3]
        self.unmatched += 1
        return own

    def initial(self, session, name, value):
        """The recorded initial value of a variable; None if there is none of its shape and dtype.

        Args:
            session: the number of the session, in the order in which they first ran.
            name: the variable's name.
            value: its own initial value.
        """
        old = [variable for variable in self._recording.variables if variable["session"] == session]
        names = [variable["name"] for variable in old]
        pairs, _, _ = match([name], names, {then: now for then, now in self._mapping.items() if then in names})
        if not pairs:
            return None
        entry = old[pairs[0][1]]["initial"]
        if entry["kind"] != "array" or list(np.shape(value)) != entry["shape"] or str(value.dtype) != entry["dtype"]:
            return None
        return self._recording.array(entry["key"]).astype(value.dtype)


def _check(recording, generators):
    """Raise unless these are states of the Mersenne twister, as numpy and Python keep them."""
    position = generators["numpy_position"]
    if (any(generators[name].dtype != np.uint32 or generators[name].shape != (size,)
            for name, size in (("numpy", 624), ("python", 625)))
            or not isinstance(position, int) or not 0 <= position <= 624 or generators["python"][-1] > 624):
        raise ResultFileError("{}: what it says of the random generators is no state of theirs: the file is "
                              "damaged.".format(recording.path))


def _last(scope):
    return scope.rsplit("/", 1)[-1]


def _emulated(op_seed, own, graph):
    """The rule of TensorFlow 1, for recordings without seeds: how many operations the graph has so far."""
    if op_seed is not None or own[0] is None:
        return own
    return own[0], len(graph.get_operations())
