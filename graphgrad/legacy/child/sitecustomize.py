"""Run by Python at the start of a process that a script under ``graphgrad run`` started: it sees TensorFlow 1 too.

Also read by older Pythons, which are left alone. The sitecustomize that this one hides is run after it.
"""
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _here]


def _activate():
    switch = os.environ.get("GRAPHGRAD_LEGACY", "").split(",")
    if "on" not in switch or sys.version_info < (3, 7):
        return
    root = os.path.dirname(os.path.dirname(os.path.dirname(_here)))
    sys.path.insert(0, root)
    try:
        activation = __import__("graphgrad.legacy.activation", fromlist=["activate"])
    finally:
        sys.path.remove(root)
    activation.activate(tf2_seeds="tf2-seeds" in switch, python2="no-py2" not in switch)


_activate()
_this = sys.modules.pop("sitecustomize", None)
try:
    __import__("sitecustomize")   # the one that this one hides
except ImportError:
    sys.modules["sitecustomize"] = _this   # the import that is under way wants to find it there
