"""Processes that a script starts see the same: by the environment, which children inherit.

PYTHONPATH gets the folder ``child`` beside this file, whose ``sitecustomize`` Python runs at start-up.
"""
import os

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")
SWITCH = "GRAPHGRAD_LEGACY"


def inherit(tf2_seeds, python2):
    """Set the environment; returns a function that puts it back."""
    before = {name: os.environ.get(name) for name in (SWITCH, "PYTHONPATH")}
    os.environ[SWITCH] = ",".join(word for word, on in (
        ("on", True), ("tf2-seeds", tf2_seeds), ("no-py2", not python2)) if on)
    paths = [path for path in (before["PYTHONPATH"] or "").split(os.pathsep) if path and path != _HERE]
    os.environ["PYTHONPATH"] = os.pathsep.join([_HERE] + paths)

    def undo():
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return undo
