"""What a Keras file may hold before Keras sees it: layers and numbers; no code, no other files, no more than it weighs.

A Lambda layer is Python's own byte code, and Keras runs it (in an .h5 even where it refuses it in a .keras); some of
its layers and functions read other files, or call any function of TensorFlow by name. HDF5 can refer to other
files too, and declare numbers that are not there.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

from ..errors import SaliencyError
from ..reasons import reason
from ..untrusted import UNREADABLE, entry_size, parse_json

#: Layers that hold code, or load it or a file from elsewhere.
_CODE = ("Lambda", "__lambda__", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer")
_MODULES = re.compile(r"(keras|tf_keras|keras_core|tensorflow(\.python)?\.keras|builtins|keras_hub|keras_nlp|keras_cv|"
                      r"tensorflow\.python\.(framework|ops)|numpy)(\.[\w.]+)?\Z")
_FUNCTIONS = re.compile(r"(builtins|.*keras(\.src)?\.(activations|initializers|regularizers|constraints|losses|metrics)"
                        r"(\.\w+)?)\Z")
#: What a layer of a TensorFlow function may call: arithmetic by its module, or something without one.
_CALLS = re.compile(r"(compat\.v[12]\.)?((math|nn|linalg|image|signal|bitwise|sparse|ragged|strings|random|"
                    r"quantization|__operators__|keras\.backend|dtypes|autodiff)\.[\w.]+|(?!load|py_|numpy_function|"
                    r"print|function|import|Module|map_fn|write)\w+)\Z")
_NUMBERS = 1 << 26
_MOST_GAIN = 100
_WEIGHTS = "model.weights.h5"
#: Reads everything but the numbers. HDF5 itself crashes over some damaged files: better in a process of its own.
_READ_ALL = """
import sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    def read(name, thing):
        dict(thing.attrs)
    read("", file)
    file.visititems(read)
"""


def check(path):
    """Look into a Keras file; quiet if it is damaged, which Keras says.

    Raises:
        SaliencyError: it holds what reading a model must not run or follow.
    """
    try:
        if zipfile.is_zipfile(path):
            _check_archive(path)
        else:
            _check_hdf5(path, path)
    except SaliencyError:
        raise
    except (UNREADABLE + (AttributeError, RuntimeError, MemoryError)) as error:   # h5py's are of every kind
        raise SaliencyError("Keras cannot load {}: it is truncated, or another kind of file ({}).".format(
            path, reason(error))) from None


def _check_archive(path):
    whole = os.path.getsize(path)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            entry_size(info, whole)
            if info.filename.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", info.filename):
                raise SaliencyError("{} holds an entry that leads out of it: {!r}.".format(path, info.filename))
        _check_config(path, parse_json(archive.read("config.json")))
        if _WEIGHTS in archive.namelist():
            with archive.open(_WEIGHTS) as packed, tempfile.TemporaryDirectory(prefix="graphgrad-") as folder:
                name = os.path.join(folder, _WEIGHTS)
                with open(name, "wb") as weights:
                    for block in iter(lambda: packed.read(1 << 20), b""):
                        weights.write(block)
                _check_hdf5(path, name)


def _check_hdf5(path, stored):
    import h5py
    if sys.executable and subprocess.run([sys.executable, "-c", _READ_ALL, stored], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL).returncode < 0:
        raise ValueError("HDF5 crashes over it")
    with h5py.File(stored, "r") as file:
        names = []
        file.id.links.visit(names.append)   # not through links to other files
        for name in names:
            link = file.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise SaliencyError("{} refers to another file, {!r}, for {!r}.".format(
                    path, link.filename, _text(name)))
            found = file.get(name) if isinstance(link, h5py.HardLink) else None
            if isinstance(found, h5py.Dataset):
                _check_numbers(path, found)
        for group in (file, file.get("model_weights")):
            text = group.attrs.get("model_config") if group is not None else None
            if text is not None:
                _check_config(path, parse_json(text if isinstance(text, bytes) else text.encode("utf-8")))


def _check_numbers(path, dataset):
    if dataset.external or getattr(dataset, "is_virtual", False):
        raise SaliencyError("{} refers to another file for the numbers of {!r}.".format(path, dataset.name))
    size = int(dataset.size) * dataset.dtype.itemsize
    if size > max(_NUMBERS, _MOST_GAIN * dataset.id.get_storage_size()):
        raise SaliencyError("{} claims {} bytes of numbers for {!r}, and holds {}.".format(
            path, size, dataset.name, dataset.id.get_storage_size()))


def _check_config(path, config):
    front = [config]
    while front:
        value = front.pop()
        if isinstance(value, dict):
            problem = _problem(value)
            if problem:
                raise SaliencyError("{} holds {}, and reading a model never runs code: if you trust it, load it with "
                                    "Keras yourself and give the model, graphgrad.saliency.load(model).".format(
                                        path, problem))
            front += value.values()
        elif isinstance(value, list):
            front += value


def _problem(layer):
    """What is wrong with one object of a configuration, or None."""
    kind, module = str(layer.get("class_name", "")), layer.get("module")
    config = layer.get("config")
    if kind.rpartition(">")[2] in _CODE:
        return "a {} layer{}".format(kind, _named(config))
    if "class_name" in layer and module is not None and not _MODULES.match(str(module)):
        return "an object of the module {!r}".format(module)
    if kind == "function" and module is not None and not _FUNCTIONS.match(str(module)):
        return "the function {!r} of the module {!r}".format(config, module)
    if isinstance(config, dict):
        if isinstance(config.get("vocabulary"), str):
            return "a layer{} that reads the file {!r}".format(_named(config), config["vocabulary"])
        called = [config[key] for key in ("function", "cls_symbol") if isinstance(
            config.get(key), str)]
        if kind in ("TFOpLambda", "ClassMethod") and not all(map(_CALLS.match, called)):
            return "a layer{} that calls {}".format(_named(config), ", ".join(map(json.dumps, called)))
    return None


def _named(config):
    name = config.get("name") if isinstance(config, dict) else None
    return " {!r}".format(name) if isinstance(name, str) else ""


def _text(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
