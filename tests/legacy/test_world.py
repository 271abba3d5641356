"""The world around TensorFlow as old code knew it: MNIST's files, scipy.misc, pkg_resources, numpy, Python's library."""
import gzip
import importlib.util
import json
import os
import struct

import numpy as np
import pytest
from conftest import TF1

from tests.legacy.conftest import SCRIPTS, graphgrad

OLD = os.path.join(os.path.dirname(SCRIPTS), "old")


def write_mnist(folder, opener=gzip.open, suffix=".gz"):
    """12 pictures to train with and 5 to test with, in MNIST's four files."""
    random = np.random.RandomState(0)
    for name, n in (("train", 12), ("t10k", 5)):
        for kind, axes, shape in (("images-idx3", 3, (n, 28, 28)), ("labels-idx1", 1, (n,))):
            data = random.randint(0, 256 if axes == 3 else 10, shape).astype(np.uint8)
            head = struct.pack(">HBB", 0, 8, axes) + b"".join(struct.pack(">I", size) for size in shape)
            with opener(str(folder / "{}-{}-ubyte{}".format(name, kind, suffix)), "wb") as stream:
                stream.write(head + data.tobytes())
    return str(folder)


def assert_same(new, old):
    """Bit for bit."""
    assert sorted(new) == sorted(old)
    for key in old:
        assert (new[key].dtype, new[key].shape) == (old[key].dtype, old[key].shape), key
        np.testing.assert_array_equal(new[key], old[key], key)


OWN = pytest.mark.skipif(TF1, reason="TF 1.15 has its own reader, which downloads what is not there")


@pytest.mark.parametrize("opener, suffix", [(gzip.open, ".gz"), pytest.param(open, "", marks=OWN)])
def test_mnist_is_read_as_1_15_read_it(tmp_path, opener, suffix):
    """Values, labels and the order of batches of TF 1.15.5's reader, on the same files."""
    done = graphgrad("run", os.path.join(SCRIPTS, "mnist.py"), write_mnist(tmp_path, opener, suffix),
                     str(tmp_path / "new.npz"))
    assert done.returncode == 0, done.stderr
    with np.load(str(tmp_path / "new.npz")) as new, np.load(os.path.join(OLD, "mnist.npz")) as old:
        assert_same(dict(new), dict(old))


@OWN
@pytest.mark.parametrize("damage, text", [
    (None, "graphgrad downloads nothing: put train-images-idx3-ubyte (or train-images-idx3-ubyte.gz) into"),
    (b"<html>not found</html>", "train-labels-idx1-ubyte is no MNIST file")])
def test_mnist_that_is_not_there(run_in_module_folder, tmp_path, damage, text):
    """One sentence: nothing is downloaded, and nothing else is read as pictures."""
    if damage:
        write_mnist(tmp_path, open, "")
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(damage)
    done = run_in_module_folder("no_mnist.py", (
        "from tensorflow.examples.tutorials.mnist import input_data\n"
        "input_data.read_data_sets({!r}, one_hot=True)\n").format(str(tmp_path)))
    assert done.returncode != 0
    assert text in done.stderr.splitlines()[-1]


HAS_PICTURES = all(importlib.util.find_spec(name) is not None for name in ("scipy", "PIL"))


@pytest.mark.skipif(not HAS_PICTURES, reason="needs SciPy and Pillow")
def test_pictures_are_those_of_scipy_1_1(tmp_path):
    """imread, imsave, imresize and the rest: made with `python pictures.py` on SciPy 1.1.0 and Pillow 9.5."""
    done = graphgrad("run", os.path.join(SCRIPTS, "pictures.py"), str(tmp_path / "new.npz"), str(tmp_path))
    assert done.returncode == 0, done.stderr
    with np.load(str(tmp_path / "new.npz")) as new, np.load(os.path.join(OLD, "pictures.npz")) as old:
        assert_same(dict(new), dict(old))


@pytest.mark.parametrize("absent", ["scipy", "PIL"])
def test_pictures_without_the_packages(run_in_module_folder, absent):
    """What to install, in one sentence."""
    if absent == "PIL" and importlib.util.find_spec("scipy") is None:
        source = "from graphgrad.legacy.images import imread\n"   # where scipy.misc would lead
    else:
        source = "from scipy.misc import imread\n"
    done = run_in_module_folder("no_pictures.py", "import sys\nsys.modules[{!r}] = None\n{}imread('a.png')\n".format(
        absent if importlib.util.find_spec(absent) is not None else "nothing", source))
    assert done.returncode != 0
    assert "pip install {}pillow.".format("scipy " if absent == "scipy" else "") in done.stderr.splitlines()[-1]


WORLD = """\
import collections, inspect, json, os, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import pkg_resources
from collections import Iterable, Mapping, MutableMapping, Sequence, Callable, OrderedDict
from pkg_resources import parse_version, resource_filename

def plain(v):
    return v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v

before = time.clock()
sum(range(100000))
def function(a, b=2, *c, **d): pass
spec = inspect.getargspec(function)
home = "graphgrad.legacy"
versions = ["1.10.0", "1.9", "2.0.0rc1", "2.0", "2.0.dev1", "2.0.0.post1", "2.0.0", "1.15.5", "2.0a2", "2.0b1", "2.0a10"]
out = {
    "clock": 0 <= time.clock() - before < 60, "getargspec": [spec.args, spec.varargs, spec.keywords, spec.defaults],
    "collections": [isinstance([], Iterable), isinstance({}, Mapping), isinstance({}, MutableMapping),
                    isinstance((), Sequence), isinstance(len, Callable), isinstance([], collections.Hashable)],
    "types": [np.int(3.7), np.float(2), np.bool(0), np.str(4), np.complex(1).real, np.object is object or "", np.long(5)],
    "astype": str(np.zeros(2).astype(np.int).dtype), "bool array": str(np.array([0, 2], dtype=np.bool).tolist()),
    "constants": [np.infty, np.Inf, np.PINF, -np.NINF, np.Infinity], "nan": [np.NaN != np.NaN, np.NAN != np.NAN],
    "asscalar": np.asscalar(np.array([4])), "alen": np.alen([1, 2, 3]), "product": np.product([2, 3]),
    "cumproduct": np.cumproduct([2, 3]), "alltrue": np.alltrue([1, 0]), "sometrue": np.sometrue([1, 0]),
    "row_stack": np.row_stack(([1, 2], [3, 4])), "round_": np.round_(2.567, 1), "in1d": np.in1d([1, 5], [5]),
    "trapz": np.trapz([1.0, 3.0]), "msort": np.msort(np.array([[3, 1], [2, 5]])), "asfarray": np.asfarray([1, 2]),
    "cast": np.cast[np.int32](np.array([1.7])), "find_common_type": [str(np.find_common_type([np.float32], scalars)) for scalars in ([np.int64], [complex], [])],
    "float_": str(np.dtype(np.float_)), "complex_": str(np.dtype(np.complex_)), "mat": np.mat([[1, 2]]) * np.mat([[3], [4]]),
    "sctypes": [np.float32 in np.sctypes["float"], np.uint8 in np.sctypes["uint"], np.int64 in np.sctypes["int"]],
    "typeDict": np.typeDict["float32"] is np.float32, "unicode_": np.unicode_("a"), "string_": np.string_(b"a") == b"a",
    "issubclass_": np.issubclass_(np.int32, np.integer),
    "sorted": sorted(versions, key=parse_version), "equal": parse_version("2.0") == parse_version("2.0.0"),
    "resource_filename": resource_filename(home, "world.py"), "exists": pkg_resources.resource_exists(home, "no.py"),
    "resource_string": pkg_resources.resource_string(home, "_tf1.py").decode()[:3],
    "stream": pkg_resources.resource_stream(home, "_tf1.py").read(3).decode(),
    "listdir": "world.py" in pkg_resources.resource_listdir("graphgrad", "legacy"),
    "get_distribution": pkg_resources.get_distribution("numpy").version == np.__version__,
    "parsed": pkg_resources.get_distribution("numpy").parsed_version > parse_version("1.9"),
    "require": [d.project_name for d in pkg_resources.require("pytest>=3.0")][:1],
}
try:
    pkg_resources.get_distribution("no-such-distribution")
except pkg_resources.DistributionNotFound:
    out["not found"] = True
print(json.dumps({name: [plain(v) for v in value] if isinstance(value, list) else plain(value)
                  for name, value in out.items()}))
"""
INF = float("inf")
WANTED = {
    "clock": True, "getargspec": [["a", "b"], "c", "d", [2]], "collections": [True] * 5 + [False],
    "types": [3, 2.0, False, "4", 1.0, True, 5], "astype": "int64", "bool array": "[False, True]",
    "constants": [INF] * 5, "nan": [True, True], "asscalar": 4, "alen": 3, "product": 6, "cumproduct": [2, 6],
    "alltrue": False, "sometrue": True, "row_stack": [[1, 2], [3, 4]], "round_": 2.6, "in1d": [False, True],
    "trapz": 2.0, "msort": [[2, 1], [3, 5]], "asfarray": [1.0, 2.0], "cast": [1], "find_common_type": ["float32", "complex128", "float32"],
    "float_": "float64", "complex_": "complex128", "mat": [[11]], "sctypes": [True] * 3, "typeDict": True,
    "unicode_": "a", "string_": True, "issubclass_": True,
    "sorted": ["1.9", "1.10.0", "1.15.5", "2.0.dev1", "2.0a2", "2.0a10", "2.0b1", "2.0.0rc1", "2.0", "2.0.0",
               "2.0.0.post1"], "equal": True,
    "exists": False, "resource_string": '"""', "stream": '"""', "listdir": True, "get_distribution": True,
    "parsed": True, "require": ["pytest"], "not found": True}


@pytest.fixture(scope="module")
def world(run_in_module_folder):
    done = run_in_module_folder("world.py", WORLD)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_it_is_what_it_was(world, name):
    """Values that old documentation gives."""
    assert world[name] == WANTED[name]


def test_a_file_beside_a_package(world):
    """The path itself."""
    import graphgrad.legacy
    assert os.path.samefile(world["resource_filename"], os.path.join(
        os.path.dirname(graphgrad.legacy.__file__), "world.py"))
