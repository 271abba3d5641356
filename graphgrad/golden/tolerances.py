"""How far a result may be from the old one: per dtype, and per name where the user says so."""
import fnmatch

from ..errors import UsageError

#: Per dtype: relative to each value, and relative to the largest absolute value of the old tensor. The float32
#: pair passed all of 42 honest ports from TF 1.15 to 2.21, the float64 pair is ten times the worst seen there;
#: the narrow ones are four units of rounding, as one operation in them rounds by half a unit.
TOLERANCES = {
    "float16": (4 * 2.0 ** -10, 4 * 2.0 ** -10),
    "bfloat16": (4 * 2.0 ** -7, 4 * 2.0 ** -7),
    "float32": (1e-5, 5e-6),
    "float64": (0.0, 5e-14),
    "complex64": (1e-5, 5e-6),
    "complex128": (0.0, 5e-14),
}


class Tolerances:
    """Looks up (relative, normwise) by name and dtype.

    Args:
        settings: {pattern: (relative, normwise)}; a pattern is a dtype, a name, or a name with * and ?. Later ones win,
            and a name wins over a dtype.
    """

    def __init__(self, settings=None):
        self.settings = {}
        for pattern, pair in (settings or {}).items():
            try:
                relative, normwise = (float(value) for value in pair)
                if not (0 <= relative < float("inf") and 0 <= normwise < float("inf")):
                    raise ValueError
            except (TypeError, ValueError):
                raise UsageError("The tolerance of {} must be two numbers from 0, relative to each value and to the "
                                 "largest; {!r} came.".format(pattern, pair)) from None
            self.settings[pattern] = (relative, normwise)

    def of(self, name, dtype):
        """(relative, normwise) for a tensor; None where the values must be equal."""
        found = self.settings.get(dtype, TOLERANCES.get(dtype))
        for pattern, pair in self.settings.items():
            if pattern in (name, name + ":0") or fnmatch.fnmatchcase(name, pattern):
                found = pair
        return found


def parse(words):
    """The settings of words such as "loss:0=1e-4,1e-5" or "float32=4e-5,2e-5"."""
    settings = {}
    for word in words or ():
        name, equals, numbers = word.rpartition("=")
        if not equals or not name:
            raise UsageError(
                "A tolerance is given as NAME=RELATIVE,NORMWISE, such as float32=1e-5,5e-6; {!r} came.".format(word))
        settings[name] = numbers.split(",")
    return Tolerances(settings).settings
