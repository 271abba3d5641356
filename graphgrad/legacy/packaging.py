"""The few functions of pkg_resources, imp and distutils that old research code uses."""
import importlib
import importlib.util
import os
import re
import sys
from importlib import reload  # noqa: F401 (imp.reload)


class DistributionNotFound(Exception):
    """A distribution is not installed."""


def _folder(package):
    name = package if isinstance(package, str) else package.__name__
    module = importlib.import_module(name)
    return os.path.dirname(os.path.abspath(module.__file__))


def resource_filename(package, name):
    """The path of a file beside a package."""
    return os.path.join(_folder(package), *name.split("/"))


def resource_string(package, name):
    """Its bytes."""
    with open(resource_filename(package, name), "rb") as stream:
        return stream.read()


def resource_stream(package, name):
    """The file, open for reading bytes."""
    return open(resource_filename(package, name), "rb")


def resource_exists(package, name):
    """Whether there is such a file."""
    return os.path.exists(resource_filename(package, name))


def resource_listdir(package, name):
    """The names in a folder."""
    return os.listdir(resource_filename(package, name))


class _Distribution:
    def __init__(self, name, version):
        self.project_name = self.key = name
        self.version = version
        self.parsed_version = parse_version(version)


def get_distribution(name):
    """An installed distribution, with its version."""
    from importlib import metadata  # Python 3.8; where pkg_resources is missing there is a newer one
    try:
        return _Distribution(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        raise DistributionNotFound(name) from None


def require(*names):
    """The distributions of these names; an error if one is not there."""
    return [get_distribution(re.split(r"[<>=!~ \[]", name)[0]) for name in names]


class LooseVersion:
    """A version number of any form, compared part by part."""

    def __init__(self, text=""):
        self.vstring = str(text)
        self.version = [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", self.vstring)]

    def _key(self):
        return [(1, part, "") if isinstance(part, int) else (0, 0, part) for part in self.version]

    def _other(self, other):
        return type(self)(str(other))._key()

    def __eq__(self, other):
        return self._key() == self._other(other)

    def __lt__(self, other):
        return self._key() < self._other(other)

    def __le__(self, other):
        return self._key() <= self._other(other)

    def __gt__(self, other):
        return self._key() > self._other(other)

    def __ge__(self, other):
        return self._key() >= self._other(other)

    def __hash__(self):
        return hash(str(self._key()))

    def __str__(self):
        return self.vstring

    __repr__ = __str__


class _Version(LooseVersion):
    """A version number whose pre-releases come before it, and for which 1.0 is 1.0.0."""

    _ORDER = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "post": 1, "r": 1}

    def _key(self):
        release, more = re.match(r"v?([\d.]*)(.*)", self.vstring.lower().partition("+")[0]).groups()
        numbers = [int(part) for part in release.split(".") if part]
        while numbers and not numbers[-1]:
            numbers.pop()
        marks = re.findall(r"([a-z]+)[._-]?(\d*)", more)
        return numbers, [(self._ORDER.get(word, 1), int(number or 0)) for word, number in marks] + [(0, 0)]


StrictVersion = parse_version = _Version


def strtobool(value):
    """1 or 0 for a word that means yes or no."""
    word = value.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError("invalid truth value {!r}".format(value))


def mkpath(name, mode=0o777, verbose=1, dry_run=0):
    """Make a folder and those above it."""
    os.makedirs(name, mode, exist_ok=True)


def load_source(name, path, file=None):
    """Import a file under a name, anew."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def new_module(name):
    """An empty module."""
    return type(sys)(name)
