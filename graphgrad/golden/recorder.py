# -*- coding: utf-8 -*-
"""Record what a TensorFlow 1 script computes: what every Session.run returned, in order.

One file that runs by itself, on Python 2.7 or 3.5 and later, with TensorFlow 0.12 to 2.21 and numpy:

    python recorder.py -o old.npz SCRIPT [ARGS]

Options of the recorder come before SCRIPT; what follows SCRIPT is the script's. The result is an .npz of
plain arrays (nothing is pickled) and a JSON text, the array "graphgrad", which says for each run what was
fetched and fed. Calls of Session.run that TensorFlow makes itself (a Saver, a MonitoredSession's set-up) are
not recorded: only those that the script, or a library outside TensorFlow, makes.
"""
from __future__ import absolute_import, division, print_function

import hashlib
import io
import json
import os
import platform
import runpy
import sys
import tempfile

import numpy as np

FORMAT = 1
_ENVIRONMENT = ("TF_ENABLE_ONEDNN_OPTS", "TF_DETERMINISTIC_OPS", "OMP_NUM_THREADS")


class Recorder(object):
    """Records while it is open: ``with Recorder(command=[...], script=path) as recorder: ...``.

    Args:
        command: list of str, kept in the file to say how it was made.
        script: path of the script, whose name and SHA-256 are kept.
        keep_values: False to note only what overrides did, not what runs returned.

    Afterwards ``save(path)`` writes the file. If the block is left by an exception, or by sys.exit with another
    status than 0, what was recorded until then can still be saved and is marked as incomplete.
    """

    def __init__(self, command=(), script=None, keep_values=True):
        self.keep_values = keep_values
        self.arrays = {}
        self.runs = []
        self.meta = {
            "format": FORMAT,
            "command": [str(word) for word in command],
            "script": os.path.basename(script) if script else None,
            "script_sha256": _sha256(script) if script else None,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": platform.platform(),
            "environment": dict((name, os.environ[name]) for name in _ENVIRONMENT if name in os.environ),
            "complete": False,
            "error": "the recording was not finished",
        }
        self._graphs = []
        self._gradient_calls = {}
        self._undo = []

    def __enter__(self):
        import tensorflow
        from tensorflow.python.client import session
        from tensorflow.python.framework import ops
        self.meta["tensorflow"] = tensorflow.__version__
        self._home = os.path.dirname(os.path.abspath(session.__file__)).rsplit("python", 1)[0]
        self._patch(session.BaseSession, "run", self._recording_run)
        self._patch(ops, "get_gradient_function", self._counting_gradient)
        return self

    def __exit__(self, kind, error, trace):
        while self._undo:
            owner, name, original = self._undo.pop()
            setattr(owner, name, original)
        if kind is None or (kind is SystemExit and not error.code):
            self.meta["complete"], self.meta["error"] = True, None
        else:
            self.meta["error"] = "{0}: {1}".format(kind.__name__, error)
        self.meta["overrides"] = self._overrides()
        return False

    def _patch(self, owner, name, make):
        original = getattr(owner, name)
        setattr(owner, name, make(original))
        self._undo.append((owner, name, original))

    # What is recorded.

    def _recording_run(self, original):
        recorder = self

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            result = original(session, fetches, feed_dict, options, run_metadata)
            recorder._keep(session.graph)
            if recorder.keep_values and not recorder._called_by_tensorflow(sys._getframe(1)):
                recorder._record(fetches, feed_dict, result)
            return result

        return run

    def _called_by_tensorflow(self, frame):
        # Tensor.eval and Operation.run are TensorFlow's too, but it is the user who calls those.
        while frame is not None and frame.f_code.co_filename.startswith(self._home):
            if frame.f_code.co_name in ("eval", "_eval_using_default_session", "_run_using_default_session"):
                frame = frame.f_back
                continue
            return True
        return False

    def _counting_gradient(self, original):
        def get_gradient_function(op):
            self._keep(op.graph)
            tag = _tag(op) or _bound_name(op)
            if tag:
                self._gradient_calls.setdefault((op.type, tag), set()).add((id(op.graph), op.name))
            return original(op)

        return get_gradient_function

    def _keep(self, graph):
        if not any(graph is kept for kept in self._graphs):
            self._graphs.append(graph)

    def _record(self, fetches, feed_dict, result):
        number = len(self.runs)
        run = {"fetches": [], "feeds": []}
        for index, (name, value) in enumerate(_flatten(fetches, result)):
            run["fetches"].append(self._value(name, value, "run{0:04d}/{1:03d}".format(number, index)))
        fed = sorted(((_name(key), value) for key, value in (feed_dict or {}).items()), key=lambda pair: pair[0])
        for index, (name, value) in enumerate(fed):
            run["feeds"].append(self._value(name, value, "run{0:04d}/feed{1:03d}".format(number, index)))
        self.runs.append(run)

    def _value(self, name, value, key):
        entry = {"name": name, "kind": "array"}
        if value is None:
            entry["kind"] = "none"
            return entry
        parts = getattr(value, "_fields", None)
        if parts:   # SparseTensorValue, IndexedSlicesValue and the like
            entry["kind"] = type(value).__name__
            entry["parts"] = [self._value(part, getattr(value, part), key + "." + part) for part in parts]
            return entry
        array = np.array(value)   # a copy: variables may be returned as views that change
        entry["dtype"], entry["shape"] = str(array.dtype), list(array.shape)
        if array.dtype.kind in "OSU":
            entry["kind"] = "strings"
            entry["values"] = [_text(item) for item in array.ravel().tolist()]
            entry["dtype"] = "string"
            return entry
        if array.dtype.kind not in "biufc":   # bfloat16: numpy alone cannot read it back
            array = array.astype(np.float32)
        entry["key"] = key
        self.arrays[key] = array
        return entry

    def _overrides(self):
        tagged = {}
        for graph in self._graphs:
            if getattr(graph, "outer_graph", None) is not None:
                continue   # a body: in its graph's library
            definition = graph.as_graph_def()
            nodes = [("", node) for node in definition.node]
            for function in definition.library.function:
                name = function.signature.name
                if not any(part in name for part in ("_grad_", "__backward_", "__forward_", "_rewritten")):
                    nodes += [(name, node) for node in function.node_def]
            for where, node in nodes:
                if "_gradient_op_type" in node.attr:
                    tag = _text(node.attr["_gradient_op_type"].s)
                    if not tag.startswith(("CustomGradient-", "PartitionedCall-")):
                        tagged.setdefault((node.op, tag), set()).add((where, node.name))
        overrides = []
        for op_type, tag in sorted(set(tagged) | set(self._gradient_calls)):
            if not tag.startswith(("CustomGradient-", "PartitionedCall-")):
                through = len(self._gradient_calls.get((op_type, tag), ()))
                # An override of existing operations leaves no tag: what the gradient went through is all there is.
                overrides.append({"op_type": op_type, "tag": tag, "differentiated": through,
                                  "tagged": max(len(tagged.get((op_type, tag), ())), through)})
        return overrides

    # The file.

    def save(self, path):
        """Write the recording; a file that is there already is replaced whole, or not at all."""
        meta = dict(self.meta, runs=self.runs)
        meta.setdefault("overrides", [])
        text = json.dumps(meta, sort_keys=True).encode("utf-8")
        folder = os.path.dirname(os.path.abspath(path))
        descriptor, temporary = tempfile.mkstemp(prefix=".recording-", suffix=".npz", dir=folder)
        try:
            with io.open(descriptor, "wb") as stream:
                np.savez_compressed(stream, graphgrad=np.frombuffer(text, np.uint8), **self.arrays)
            mask = os.umask(0)   # mkstemp makes files that only their owner can read
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            if os.name == "nt" and os.path.exists(path):
                os.remove(path)
            os.rename(temporary, path)
        except BaseException:
            os.remove(temporary)
            raise


def _tag(op):
    try:
        return _text(type(op).get_attr(op, "_gradient_op_type"))
    except ValueError:
        return None


def _bound_name(op):
    """The name of a gradient that graphgrad has put on an existing operation, for which nothing is in the graph."""
    binding = getattr(op, "_graphgrad_binding", None)
    return getattr(getattr(binding, "gradient", None), "tag", None)


def _flatten(fetches, result):
    """(name, value) of each leaf of a fetch structure, dicts in the order of their keys."""
    if isinstance(fetches, (list, tuple)):
        return [leaf for pair in zip(fetches, result) for leaf in _flatten(*pair)]
    if isinstance(fetches, dict):
        return [leaf for key in sorted(fetches) for leaf in _flatten(fetches[key], result[key])]
    return [(_name(fetches), result)]


def _name(fetch):
    name = getattr(fetch, "name", None)
    if name is None:
        try:
            name = fetch.values.name   # SparseTensor, IndexedSlices
        except AttributeError:
            name = fetch
    return _text(name)


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _sha256(path):
    with io.open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def main(argv=None):
    """Run the command line; returns the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if len(argv) < 3 or argv[0] != "-o":
        sys.stderr.write("usage: python recorder.py -o OLD.npz SCRIPT [ARGS]\n")
        return 2
    path, script, arguments = argv[1], argv[2], argv[3:]
    if not os.path.isfile(script):
        sys.stderr.write("recorder: there is no script {0!r}.\n".format(script))
        return 2
    recorder = Recorder(["python", "recorder.py"] + argv, script)
    sys.argv = [script] + arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        with recorder:
            runpy.run_path(script, run_name="__main__")
    finally:
        recorder.save(path)
        sys.stderr.write("recorded {0} runs to {1}\n".format(len(recorder.runs), path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
