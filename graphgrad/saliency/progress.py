"""A progress bar on stderr, for runs that take long."""
import sys
import time

_PATIENCE = 3.0   # seconds before a bar shows up
_WIDTH = 30


class Progress:
    """Counts examples; shows a bar once it has taken a few seconds and stderr is a terminal.

    Args:
        total: the number of examples, or None if it is not known.
        wanted: True to show it at once, wherever stderr goes, False never, None as above.
    """

    def __init__(self, total, wanted=None):
        self.total = total
        self.done = 0
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._from = time.time() + (0.0 if wanted else _PATIENCE)
        self._shown = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._shown:
            sys.stderr.write("\n")

    def step(self):
        """Count one example."""
        self.done += 1
        if self._wanted and time.time() >= self._from:
            self._shown = True
            sys.stderr.write("\r" + self.text())
            sys.stderr.flush()

    def text(self):
        """What the bar says now."""
        if not self.total:
            return "{} done".format(self.done)
        full = _WIDTH * self.done // self.total
        return "[{}{}] {}/{}".format("#" * full, "." * (_WIDTH - full), self.done, self.total)
