"""Which old names are there, and what is said of the others: python resolve.py NAMES.json OUTPUT.json."""
import importlib
import json
import sys
import warnings

import tensorflow as tf

from graphgrad.legacy import catalogue, world

assert world.PATCHED
warnings.simplefilter("ignore")   # numpy's, about names that it will give another meaning


def resolve(module, name):
    """"there", or the sentence that using the name raises."""
    value = getattr(module, name)
    if not isinstance(value, catalogue.Gone):
        return "there"
    try:
        value()
    except AttributeError as error:
        return str(error)


def path(names):
    module = tf
    for name in names.split("."):
        module = getattr(module, name)
    return module


with open(sys.argv[1]) as stream:
    wanted = {part: names.split() for part, names in json.load(stream).items()}
out = {part: {name: resolve(path(part), name) for name in names} for part, names in wanted.items()}
entered = out["catalogue"] = {}
for entry in catalogue.entries():
    if entry.module.startswith("keras") or entry.module == "scipy.misc":
        continue
    if entry.module.startswith("tensorflow") and not entry.module.startswith("tensorflow.python"):
        module = path(entry.module[len("tensorflow."):]) if "." in entry.module else tf
    else:
        module = importlib.import_module(entry.module)
    said = resolve(module, entry.name)
    if said == "there" and ".gen_" in entry.module:
        said = getattr(module, entry.name).__name__.lstrip("_")
    entered["{}.{}".format(entry.module, entry.name)] = said
with open(sys.argv[2], "w") as stream:
    json.dump(out, stream)
