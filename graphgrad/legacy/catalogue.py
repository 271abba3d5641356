"""What is gone: one entry for each old name, with the version that removed it and what to write today.

An entry is looked up only when a name is missing (a module's ``__getattr__``), so one that is not used costs
nothing, and one that is used is listed after the run.
"""
import sys
import warnings

from ..errors import GraphGradError

#: "module.name" of each entry that was used in this process -> the entry, in order.
USED = {}
#: One sentence each that the run ends with.
NOTES = []
_ENTRIES = {}


class LegacyWarning(UserWarning):
    """Old code was given something other than what its words mean today; the message says what."""


class GoneError(GraphGradError, AttributeError):
    """Old code used a name that TensorFlow no longer has and graphgrad does not supply."""


class Shim:
    """A name that is gone.

    Attributes:
        module: where old code looks for it.
        name: what it was called.
        gone: the first version without it.
        now: what to write today, or why there is nothing.
        make: ``fn() -> value``, called when the name is first used; None if there is no replacement.
    """

    __slots__ = ("module", "name", "gone", "now", "make")

    def __init__(self, module, name, gone, now, make):
        self.module = module
        self.name = name
        self.gone = gone
        self.now = now
        self.make = make

    def __str__(self):
        return "{}.{} (gone since {}): {}".format(self.module, self.name, self.gone, self.now)


def enter(module, name, gone, now, make=None):
    """Add an entry."""
    _ENTRIES.setdefault(module, {})[name] = Shim(module, name, gone, now, make)


def entries(module=None):
    """All entries, or the dict from names to entries of one module."""
    if module is not None:
        return _ENTRIES.get(module, {})
    return [entry for names in _ENTRIES.values() for entry in names.values()]


def note(sentence, warn=False):
    """Keep a sentence for the end of the run; ``warn`` also warns at once."""
    if sentence not in NOTES:
        NOTES.append(sentence)
        if warn:
            warnings.warn(sentence, LegacyWarning, stacklevel=_outside())


def _outside():
    level, frame = 2, sys._getframe(2)
    while frame is not None and (frame.f_globals.get("__name__") or "").startswith(("graphgrad.legacy", "importlib")):
        level, frame = level + 1, frame.f_back
    return level


def take(module, name):
    """The value for an old name; raises KeyError if there is no entry. A name without replacement gives a Gone."""
    entry = _ENTRIES[module][name]
    if entry.make is None:
        return Gone(entry)
    value = entry.make()
    USED["{}.{}".format(module, name)] = entry
    return value


def gone_sentence(module, name):
    """What became of a name, in one sentence, or None."""
    entry = _ENTRIES.get(module, {}).get(name)
    return None if entry is None else "{}.{} is gone since {}: {}.".format(module, name, entry.gone, entry.now)


class Gone:
    """Stands for a name without replacement: it may be imported and passed on; using it says what to do."""

    def __init__(self, entry):
        self.__dict__["_entry"] = entry

    def _raise(self, *args, **kwargs):
        raise GoneError("{0.module}.{0.name} is gone since {0.gone}: {0.now}.".format(self._entry))

    __call__ = __getitem__ = __iter__ = __enter__ = __mro_entries__ = __instancecheck__ = _raise
    __eq__ = __ne__ = __bool__ = __len__ = __float__ = __int__ = _raise     # mode == ModeKeys.TRAIN must not be False
    __hash__ = object.__hash__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        entry = self._entry
        return Gone(Shim("{}.{}".format(entry.module, entry.name), name, entry.gone, entry.now, None))

    def __repr__(self):
        return "<gone: {}.{}>".format(self._entry.module, self._entry.name)


def look_up_missing(module, title):
    """Make a module supply its entries: returns a function that undoes it.

    Stands on a module's own ``__getattr__``, which Python asks for names that are not there; the one that was there
    before is asked first.
    """
    namespace = vars(getattr(module, "_tfmw_wrapped_module", module))   # TensorFlow wraps its public modules
    before = namespace.get("__getattr__")

    def __getattr__(name):
        if before is not None:
            try:
                return before(name)
            except (AttributeError, ImportError):
                if name not in _ENTRIES[title]:
                    raise
        if name not in _ENTRIES[title]:
            raise AttributeError("module {!r} has no attribute {!r}".format(module.__name__, name))
        value = take(title, name)
        namespace[name] = value
        given.append(name)
        return value

    given = []
    namespace["__getattr__"] = __getattr__

    def undo():
        for name in given:
            namespace.pop(name, None)
        if before is None:
            namespace.pop("__getattr__", None)
        else:
            namespace["__getattr__"] = before

    return undo
