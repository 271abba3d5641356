"""The world around TensorFlow: what numpy and Python's own library have dropped since, supplied when it is missing."""
import contextlib
import importlib
import importlib.util
import os
import sys

from .catalogue import enter, entries, look_up_missing

_late = {}
_undo_late = []


def _enter_all():
    same = {
        # numpy: aliases of Python's types went in 1.24, the rest in 2.0.
        "numpy": ("1.24", "Python's own", {
            "int": int, "float": float, "bool": bool, "object": object, "complex": complex, "str": str, "long": int,
            "unicode": str}),
    }
    for module, (gone, now, values) in same.items():
        for name, value in values.items():
            enter(module, name, gone, "{} {}".format(now, name), lambda value=value: value)
    for name, now in {
            "infty": "inf", "Inf": "inf", "PINF": "inf", "Infinity": "inf", "NaN": "nan", "NAN": "nan",
            "float_": "float64", "complex_": "complex128", "unicode_": "str_", "string_": "bytes_", "product": "prod",
            "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any", "row_stack": "vstack", "round_": "round",
            "in1d": "isin", "trapz": "trapezoid", "longfloat": "longdouble", "singlecomplex": "complex64",
            "cfloat": "complex128", "mat": "asmatrix"}.items():
        enter("numpy", name, "2.0", "np." + now, lambda now=now: getattr(sys.modules["numpy"], now))
    for name, gone, now, make in (
            ("NINF", "2.0", "-np.inf", lambda: -float("inf")),
            ("asscalar", "1.23", "a.item()", lambda: lambda a: a.item()),
            ("rank", "1.18", "np.ndim", lambda: sys.modules["numpy"].ndim),
            ("alen", "1.23", "len", lambda: lambda a: len(sys.modules["numpy"].atleast_1d(a))),
            ("msort", "2.0", "np.sort(a, axis=0)", lambda: lambda a: sys.modules["numpy"].sort(a, axis=0)),
            ("asfarray", "2.0", "np.asarray(a, float)", lambda: _asfarray),
            ("sctypes", "2.0", "a list of dtypes", lambda: _sctypes()),
            ("typeDict", "1.24", "np.sctypeDict", lambda: sys.modules["numpy"].sctypeDict),
            ("cast", "2.0", "np.asarray(a, dtype)", lambda: _Cast()),
            ("find_common_type", "2.0", "np.result_type", lambda: _find_common_type),
            ("issubclass_", "2.0", "issubclass", lambda: issubclass)):
        enter("numpy", name, gone, now, make)
    for name in ("Callable", "Container", "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView", "Mapping",
                 "MappingView", "MutableMapping", "MutableSequence", "MutableSet", "Sequence", "Set", "Sized",
                 "ValuesView", "Generator"):
        enter("collections", name, "Python 3.10", "collections.abc." + name, lambda name=name: _from(
            "collections.abc", name))
    enter("inspect", "getargspec", "Python 3.11", "inspect.getfullargspec", lambda: _getargspec)
    enter("time", "clock", "Python 3.8", "time.perf_counter or time.process_time", lambda: _from(
        "time", "process_time"))
    enter("platform", "linux_distribution", "Python 3.8", "the package distro", lambda: lambda *a, **k: ("", "", ""))
    for old, now in (("izip", zip), ("imap", map), ("ifilter", filter)):
        enter("itertools", old, "Python 3.0", now.__name__, lambda now=now: now)
    enter("itertools", "izip_longest", "Python 3.0", "zip_longest", lambda: _from("itertools", "zip_longest"))
    enter("string", "letters", "Python 3.0", "ascii_letters", lambda: _from("string", "ascii_letters"))
    enter("string", "lowercase", "Python 3.0", "ascii_lowercase", lambda: _from("string", "ascii_lowercase"))
    enter("string", "uppercase", "Python 3.0", "ascii_uppercase", lambda: _from("string", "ascii_uppercase"))
    enter("string", "maketrans", "Python 3.0", "str.maketrans", lambda: str.maketrans)
    enter("string", "join", "Python 3.0", "sep.join(words)", lambda: lambda words, sep=" ": sep.join(words))
    for name in ("urlretrieve", "urlopen"):
        enter("urllib", name, "Python 3.0", "urllib.request." + name, lambda name=name: _from("urllib.request", name))
    for name in ("quote", "unquote", "urlencode", "quote_plus", "unquote_plus"):
        enter("urllib", name, "Python 3.0", "urllib.parse." + name, lambda name=name: _from("urllib.parse", name))
    enter("sys", "maxint", "Python 3.0", "sys.maxsize", lambda: sys.maxsize)
    enter("sys", "setdefaultencoding", "Python 3.0", "nothing: it is UTF-8", lambda: lambda name: None)
    enter("os", "getcwdu", "Python 3.0", "os.getcwd", lambda: os.getcwd)
    for name in ("imread", "imsave", "imresize", "imrotate", "toimage", "bytescale", "fromimage"):
        enter("scipy.misc", name, "SciPy 1.2", "PIL or imageio", lambda name=name: _from(
            "graphgrad.legacy.images", name))
    enter("scipy.misc", "logsumexp", "SciPy 1.3", "scipy.special.logsumexp", lambda: _from(
        "scipy.special", "logsumexp"))


def _from(module, name):
    return getattr(importlib.import_module(module), name)


_enter_all()
#: The modules of this page: an import of one of them is followed by a look whether it needs its old names.
PATCHED = {entry.module for entry in entries() if not entry.module.startswith("tensorflow")}


def install():
    """Patch the modules that are loaded; the others when they are imported. Returns functions that undo it."""
    for name in sorted(PATCHED):
        if name in sys.modules:
            _patch(name)

    def undo():
        while _undo_late:
            _undo_late.pop()()
        _late.clear()

    return [undo]


def patch_late(name):
    """Patch a module that was just imported, once."""
    for known in (name, name.partition(".")[0]):
        module = sys.modules.get(known)
        if known in PATCHED and known not in _late and module is not None and not getattr(
                module.__spec__, "_initializing", False):   # else its own __getattr__ is yet to come
            _patch(known)


def explain_missing(name, error):
    """Say in an import's error what a package is needed for that old code took for granted."""
    if name == "scipy.misc" and error.name in ("scipy", name):
        error.msg = ("No module named 'scipy': scipy.misc's picture functions are gone since SciPy 1.2, and what "
                     "graphgrad puts in their place needs SciPy and Pillow: pip install scipy pillow.")


def _patch(name):
    _late[name] = True
    _undo_late.append(look_up_missing(sys.modules[name], name))


@contextlib.contextmanager
def environment_set(undo):
    """While TensorFlow is imported: quiet, and with tf_keras for Keras where that is installed."""
    wanted = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    if importlib.util.find_spec("tf_keras") is not None:
        wanted["TF_USE_LEGACY_KERAS"] = "1"
    for name, value in wanted.items():
        if name not in os.environ:
            os.environ[name] = value
            undo.append(lambda name=name: os.environ.pop(name, None))
    yield


# --- Replacements that are more than another name ------------------------------------------------------

def _getargspec(function):
    import collections
    import inspect
    spec = inspect.getfullargspec(function)
    kind = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
    return kind(spec.args, spec.varargs, spec.varkw, spec.defaults)


def _asfarray(a, dtype=None):
    np = sys.modules["numpy"]
    dtype = np.dtype(dtype or float)
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else float)


def _sctypes():
    np = sys.modules["numpy"]
    return {"int": [np.int8, np.int16, np.int32, np.int64], "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
            "float": [np.float16, np.float32, np.float64, np.longdouble],
            "complex": [np.complex64, np.complex128, np.clongdouble], "others": [bool, object, bytes, str, np.void]}


class _Cast(dict):
    """np.cast[dtype](a)."""

    def __missing__(self, dtype):
        return lambda a: sys.modules["numpy"].asarray(a).astype(dtype)


def _find_common_type(array_types, scalar_types):
    """The arrays' type, unless the scalars' is of a higher kind."""
    np = sys.modules["numpy"]
    if not array_types or not scalar_types:
        return np.result_type(*(list(array_types) + list(scalar_types)))
    arrays, scalars = np.result_type(*array_types), np.result_type(*scalar_types)
    higher = "buifc".find(scalars.kind) > "buifc".find(arrays.kind)
    return np.result_type(scalars, arrays) if higher else arrays
