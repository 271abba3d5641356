"""Values at hand in the form of a Recording, so that they are compared as files are."""
from .recorder import Recorder


class InMemory:
    """Runs and variables with arrays in memory; a Recording to whoever compares it.

    Args:
        meta: dict, more of what a recording says of itself.

    Attributes:
        compared: how many runs with values were added.
    """

    path = "memory"
    seeds = None

    def __init__(self, meta=None):
        self.meta = dict(meta or {}, complete=True, error=None)
        self.runs = []
        self.variables = []
        self.graphs = []
        self.compared = 0
        self._arrays = {}
        self._recorder = Recorder(archive=self, max_bytes=float("inf"))

    def add_run(self, fetches, feeds=(), fed=None):
        """Add a run.

        Args:
            fetches: (name, value) pairs.
            feeds: entries of the recording ``fed`` that were fed again.
            fed: a Recording.
        """
        for entry in feeds:
            if "key" in entry:
                self._arrays[entry["key"]] = fed.array(entry["key"])
        number, fetches = len(self.runs), list(fetches)
        self.runs.append({"feeds": list(feeds), "fetches": [
            self._recorder._value(name, value, "run{:04d}/{:03d}".format(number, place))
            for place, (name, value) in enumerate(fetches)]})
        self.compared += any(value is not None for _, value in fetches)

    def skip_run(self, run):
        """Add a run that is there and not compared."""
        self.runs.append(dict(run, skipped=True))

    def add_variable(self, session, name, value):
        """Add the final value of a variable."""
        entry = self._recorder._value(name, value, "final/{}/{}".format(session, name))
        self.variables.append({"session": session, "name": name, "final": entry})

    def add(self, key, array):
        """Keep one array, as an Archive does."""
        self._arrays[key] = array

    def array(self, key):
        """Give one array back, as a Recording does."""
        return self._arrays[key]

    def close(self):
        """Nothing is open."""
