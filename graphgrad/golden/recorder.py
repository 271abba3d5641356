# -*- coding: utf-8 -*-
"""Record what a TensorFlow 1 script computes: what every Session.run returned, in order, and what it started from.

One file that runs by itself, on Python 2.7 or 3.5 and later, with TensorFlow 0.12 to 2.21 and numpy:

    python recorder.py SCRIPT [ARGS] -o old.npz        (or: python recorder.py -o old.npz SCRIPT [ARGS])

Options of the recorder come before SCRIPT; what follows it is the script's, but for a last ``-o FILE``.
The result is an .npz of plain arrays (nothing is pickled). Two kinds of entries are JSON texts, kept as bytes:
"graphgrad" says how the file was made and what was built, "runs/0000" and its like what was fetched and fed.

Calls that TensorFlow makes itself (a Saver, a MonitoredSession's set-up) are not recorded: only those that the
script, or a library outside TensorFlow, makes. A script that leaves its chance to the clock (no seed at all) is given
seeds, drawn here and recorded, so that it can be run again; in all else the script runs as it would.
"""
from __future__ import absolute_import, division, print_function

import contextlib
import errno
import hashlib
import io
import json
import multiprocessing
import os
import platform
import random
import runpy
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
import weakref
import zipfile
import zlib

import numpy as np

FORMAT = 2
MAX_BYTES = 100 * 1024 * 1024
SAMPLES = 1000
_ENVIRONMENT = ("TF_ENABLE_ONEDNN_OPTS", "TF_DETERMINISTIC_OPS", "OMP_NUM_THREADS")
_CPU_FLAGS = (
    "sse4_1", "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "asimd", "sve")
_MAX_NODES = 100000   # of a graph: larger ones are described by their histogram and their random operations alone
_DEFLATE_BELOW = 1 << 16   # zlib gains little on large arrays of floats and costs more than the run
_JOURNAL_SECONDS = 1.0     # what a killed process may lose
_PAUSED = threading.local()


class Recorder(object):
    """Records while it is open: ``with Recorder(command=[...], script=path) as recorder: ...``.

    Args:
        command: list of str, kept in the file to say how it was made.
        script: path of the script, whose name and SHA-256 are kept.
        keep_values: False to note only what overrides did, not what runs returned.
        arguments: list of str, the script's own.
        every: keep the values of every so many-th run only; the others are counted.
        max_bytes: of an array above this size the SHA-256 and 1000 sampled entries are kept.
        intermediates: the number of a run of which every tensor upstream of its fetches is kept as well.
        archive: the Archive to write to; one without a name if None.
        replay: an object with ``seed(scope, op_seed, own)`` and ``initial(session, name, value)`` that gives recorded
            seeds and initial values back; None to leave the script its own.
        progress: whether to say on stderr, now and then, how far it is.

    Afterwards ``save(path)`` writes the file. If the block is left by an exception, or by sys.exit with another
    status than 0, what was recorded until then can still be saved and is marked as incomplete. In a process
    forked off by the script nothing is recorded.
    """

    def __init__(self, command=(), script=None, keep_values=True, arguments=(), every=1, max_bytes=MAX_BYTES,
                 intermediates=None, archive=None, replay=None, progress=False):
        self.keep_values = keep_values
        self.runs = 0
        self.meta = {
            "format": FORMAT,
            "command": [str(word) for word in command],
            "arguments": [str(word) for word in arguments],
            "script": os.path.basename(script) if script else None,
            "script_sha256": _sha256(script) if script else None,
            "every": every,
            "max_bytes": max_bytes,
            "intermediates": intermediates,
            "complete": False,
            "error": "the recording was not finished",
        }
        self.meta.update(_machine())
        self._archive = archive
        self._replay = replay
        self._progress = _Progress() if progress else None
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._inside = threading.local()
        self._graphs = []
        self._sessions = weakref.WeakKeyDictionary()
        self._recent = []
        self._session_count = 0
        self._failure = None
        self._variables = []
        self._seeds = []
        self._kept_once = {}
        self._journal = []
        self._chunks = 0
        self._journal_time = time.time()
        self._gradient_calls = {}
        self._undo = []

    def __enter__(self):
        import tensorflow
        from tensorflow.python.client import session
        from tensorflow.python.framework import errors, ops, random_seed
        from tensorflow.python.training import monitored_session
        self.meta["tensorflow"] = tensorflow.__version__
        self.meta["onednn"] = _uses_onednn(tensorflow.__version__)
        self._home = os.path.dirname(os.path.abspath(session.__file__)).rsplit("python", 1)[0]
        self._ops, self._error = ops, errors.OpError
        self._patch(ops, "get_gradient_function", self._counting_gradient)
        base = session.BaseSession
        self._run = base.run
        self._patch(base, "run", self._recording_run)
        if self.keep_values:
            self._patch(base, "partial_run_setup", self._recording_partial_setup)
            self._patch(base, "partial_run", self._recording_partial_run)
            if hasattr(base, "make_callable"):   # since TF 1.2; pragma: no branch (before it)
                self._patch(base, "make_callable", self._recording_make_callable)
            self._patch(base, "close", self._recording_close)
            monitored = getattr(monitored_session, "_MonitoredSession", monitored_session.MonitoredSession)
            self._patch(monitored, "run", self._recording_monitored_run)
            self._patch(random_seed, "get_seed", self._recording_seed)
            self._replay_generators()
        return self

    def __exit__(self, kind, error, trace):
        if os.getpid() != self._process:
            return False
        if self.keep_values:
            with self._lock:
                for session in list(self._sessions):
                    self._final_values(session)
        while self._undo:
            owner, name, original = self._undo.pop()
            setattr(owner, name, original)
        if getattr(self._replay, "unmatched", 0):
            self.meta["seeds_unmatched"] = self._replay.unmatched
        if kind is None or (kind is SystemExit and error.code in (None, 0)):
            self.meta["complete"], self.meta["error"] = True, None
        elif kind is SystemExit:
            self.meta["error"] = "sys.exit({0!r})".format(error.code)
        else:
            self.meta["error"] = "{0}: {1}".format(kind.__name__, error)
        self.meta["overrides"] = self._overrides()
        if self.keep_values:
            self.meta["graphs"] = [_describe(graph) for graph in self._roots()]
        return False

    def _patch(self, owner, name, make):
        original = getattr(owner, name)
        setattr(owner, name, make(original))
        self._undo.append((owner, name, original))

    def _replay_generators(self):
        # What numpy's and Python's generators give a script that does not seed them.
        state = np.random.get_state()
        version, words, gauss = random.getstate()
        generators = getattr(self._replay, "generators", None)
        if generators:
            state = (str(state[0]), generators["numpy"], generators["numpy_position"], 0, 0.0)
            np.random.set_state(state)
            words = tuple(int(word) for word in generators["python"])
            random.setstate((version, words, None))
        self._add("generators/numpy", np.array(state[1], np.uint32))
        self._add("generators/python", np.array(words, np.uint32))
        self.meta["numpy_position"] = int(state[2])

    # The session's calls.

    def _recording_run(self, original):
        recorder = self

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            if recorder._is_off():
                return original(session, fetches, feed_dict, options, run_metadata)
            frame = sys._getframe(1)
            own = recorder.keep_values and not recorder._called_by_tensorflow(frame)
            if own and recorder.runs == recorder.meta["intermediates"]:
                upstream = _upstream(session.graph, fetches)
                result, values = original(session, [fetches, upstream], feed_dict, options, run_metadata)
            else:
                upstream, values = [], []
                result = original(session, fetches, feed_dict, options, run_metadata)
            recorder._keep(session.graph)
            if recorder.keep_values:
                with recorder._lock:
                    recorder._initial_values(session, fetches, restored=_called_by_saver(frame))
                    if own:
                        recorder._record(fetches, feed_dict, result, list(zip(upstream, values)))
            return result

        return run

    def _record_call(self, frame, fetches, feed_dict, result):
        # Unless TensorFlow itself made the call, from that frame.
        if not self._is_off() and not self._called_by_tensorflow(frame):
            with self._lock:
                self._record(fetches, feed_dict, result)

    def _recording_monitored_run(self, original):
        recorder = self

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            result = original(session, fetches, feed_dict, options, run_metadata)
            recorder._record_call(sys._getframe(1), fetches, feed_dict, result)
            return result

        return run

    def _recording_partial_setup(self, original):
        recorder = self

        def partial_run_setup(session, fetches, feeds=None):
            handle = original(session, fetches, feeds)
            recorder._keep(session.graph)
            return handle

        return partial_run_setup

    def _recording_partial_run(self, original):
        recorder = self

        def partial_run(session, handle, fetches, feed_dict=None):
            result = original(session, handle, fetches, feed_dict)
            recorder._record_call(sys._getframe(1), fetches, feed_dict, result)
            return result

        return partial_run

    def _recording_make_callable(self, original):
        recorder = self

        def make_callable(session, fetches, feed_list=None, accept_options=False):
            function = original(session, fetches, feed_list, accept_options)
            if recorder._is_off() or recorder._called_by_tensorflow(sys._getframe(1)):
                return function
            feed_keys = list(feed_list or [])

            def recorded(*values, **options):
                # A callable made of a run calls our run: that one is recorded here, under its feeds' names.
                recorder._inside.callable = True
                try:
                    result = function(*values, **options)
                finally:
                    recorder._inside.callable = False
                if not recorder._is_off():
                    recorder._keep(session.graph)
                    with recorder._lock:
                        recorder._initial_values(session, fetches)
                        recorder._record(fetches, zip(feed_keys, values), result)
                return result

            return recorded

        return make_callable

    def _recording_close(self, original):
        recorder = self

        def close(session):
            if not recorder._is_off():
                with recorder._lock:
                    recorder._final_values(session)
            return original(session)

        return close

    def _is_off(self):
        """Whether this call is not recorded: made by the recorder, in a callable, in a fork, or on a full disk."""
        return (getattr(self._inside, "own", False) or getattr(self._inside, "callable", False)
                or getattr(_PAUSED, "on", False) or os.getpid() != self._process or self._failure is not None)

    def _called_by_tensorflow(self, frame):
        # Tensor.eval and Operation.run are TensorFlow's too, but it is the user who calls those.
        while frame is not None and frame.f_code.co_filename.startswith(self._home):
            if frame.f_code.co_name in ("eval", "_eval_using_default_session", "_run_using_default_session"):
                frame = frame.f_back
                continue
            if frame.f_code.co_name == "run" and frame.f_code.co_filename.endswith(os.sep + "ops.py"):
                frame = frame.f_back   # Operation.run
                continue
            return True
        return False

    def _run_ourselves(self, session, *arguments):
        self._inside.own = True
        try:
            return self._run(session, *arguments)
        finally:
            self._inside.own = False

    def _keep(self, graph):
        if not any(graph is kept for kept in self._graphs):
            self._graphs.append(graph)

    def _roots(self):
        return [graph for graph in self._graphs if getattr(graph, "outer_graph", None) is None]

    # Variables: their values are read with tensors that exist, so that the graph stays as the script builds it.

    def _initial_values(self, session, fetches, restored=False):
        state = self._state(session)
        graph = session.graph
        variables = graph.get_collection("variables") + graph.get_collection("local_variables")
        if len(variables) == len(state.known):
            return
        attempt = (len(variables), len(state.known)) + tuple(name for name, _ in _flatten(fetches, None))
        if attempt in state.tried:
            return
        state.tried.add(attempt)
        pending = [(variable, _reader(variable)) for variable in variables if variable.name not in state.known]
        pending = [pair for pair in pending if pair[1] is not None]
        for variable, value in self._read(session, pending):
            state.known[variable.name] = variable
            entry = {"session": state.number, "name": variable.name, "run": self.runs}
            if self._replay is not None and not restored:
                value = self._replayed_value(session, state, variable, value, entry)
            key = "initial/{0:02d}/{1:04d}".format(state.number, len(self._variables))
            entry["initial"] = self._value(variable.name, value, key, once=True)
            self._variables.append(entry)

    def _replayed_value(self, session, state, variable, value, entry):
        recorded = self._replay.initial(state.number, variable.name, value)
        if recorded is None:
            return value
        initializer = variable.initializer
        # Only chance is taken away: an initial value that comes of no random operation is the script's.
        if not _depends_on_chance(initializer.inputs[1].op):
            return value
        self._run_ourselves(session, initializer, {initializer.inputs[1]: recorded})
        entry["replayed"] = True
        return recorded

    def _final_values(self, session):
        state = self._sessions.get(session)
        if state is None or state.closed:
            return
        state.closed = True
        readers = [(variable, _reader(variable)) for variable in state.known.values()]
        entries = dict((entry["name"], entry) for entry in self._variables if entry["session"] == state.number)
        for place, (variable, value) in enumerate(self._read(session, readers)):
            entry = entries[variable.name]
            key = "final/{0:02d}/{1:04d}".format(state.number, place)
            entry["final"] = self._value(variable.name, value, key, once=True)

    def _read(self, session, readers):
        """(variable, value) of those that are initialised."""
        if not readers:
            return []
        try:
            values = self._run_ourselves(session, [tensor for _, tensor in readers])
            return [(variable, value) for (variable, _), value in zip(readers, values)]
        except (self._error, RuntimeError):
            if len(readers) == 1:
                return []
        half = len(readers) // 2
        return self._read(session, readers[:half]) + self._read(session, readers[half:])

    def _state(self, session):
        state = self._sessions.get(session)
        if state is None:
            state = self._sessions[session] = _SessionState(self._session_count)
            self._session_count += 1
            config = getattr(session, "_config", None)
            if config is not None:   # pragma: no branch (TF before 1.15 keeps None)
                threads = [config.inter_op_parallelism_threads, config.intra_op_parallelism_threads]
                self.meta.setdefault("session_threads", threads)
        if not self._recent or self._recent[-1] is not session:
            # A session that its script drops without closing is read at the end, if it is one of the last.
            self._recent = [kept for kept in self._recent if kept is not session][-3:] + [session]
        return state

    # Seeds.

    def _recording_seed(self, original):
        recorder = self

        def get_seed(op_seed):
            seeds = original(op_seed)
            graph = recorder._ops.get_default_graph()
            if recorder._is_off() or _is_eager():
                return seeds
            scope = _scope(graph)
            if recorder._replay is not None:
                seeds = recorder._replay.seed(scope, op_seed, seeds, graph)
            if seeds[0] is None and seeds[1] is None:
                words = np.frombuffer(os.urandom(8), np.uint32) % (2 ** 31 - 2) + 1
                seeds = int(words[0]), int(words[1])
                recorder.meta["seeds_drawn"] = recorder.meta.get("seeds_drawn", 0) + 1
            recorder._seeds.append([scope, op_seed, seeds[0], seeds[1]])
            return seeds

        return get_seed

    # Gradients and overrides.

    def _counting_gradient(self, original):
        def get_gradient_function(op):
            self._keep(op.graph)
            tag = _tag(op) or _bound_name(op)
            if tag:
                self._gradient_calls.setdefault((op.type, tag), set()).add((id(op.graph), op.name))
            return original(op)

        return get_gradient_function

    def _overrides(self):
        tagged = {}
        for graph in self._roots():
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

    # Values.

    def _record(self, fetches, feeds, result, upstream=()):
        number = self.runs
        self.runs += 1
        run = {"fetches": [], "feeds": []}
        if number % self.meta["every"]:
            run["skipped"] = True
        else:
            leaves = _flatten(fetches, result) + [(_name(tensor), value) for tensor, value in upstream]
            if upstream:
                run["intermediates"] = len(upstream)
            for index, (name, value) in enumerate(leaves):
                run["fetches"].append(self._value(name, value, "run{0:04d}/{1:03d}".format(number, index)))
            feeds = feeds.items() if isinstance(feeds, dict) else feeds or ()
            fed = sorted(((_name(key), value) for key, value in feeds), key=lambda pair: pair[0])
            for index, (name, value) in enumerate(fed):
                run["feeds"].append(self._value(name, value, "run{0:04d}/feed{1:03d}".format(number, index), once=True))
        self._journal.append(run)
        now = time.time()
        if now - self._journal_time > _JOURNAL_SECONDS:
            self._flush_journal(now)
        if self._progress:
            self._progress.say(now, "{0} runs recorded".format(self.runs))

    def _flush_journal(self, now=0.0):
        if self._journal:
            self._add_json("runs/{0:04d}".format(self._chunks), self._journal)
            self._chunks += 1
        if self._archive is not None and self._failure is None:
            try:
                self._archive.flush()
            except (IOError, OSError) as error:
                self._failure = error
        self._journal, self._journal_time = [], now

    def _value(self, name, value, key, once=False):
        entry = {"name": name, "kind": "array"}
        if value is None:
            entry["kind"] = "none"
            return entry
        parts = getattr(value, "_fields", None)
        if hasattr(value, "row_splits"):   # RaggedTensorValue
            parts = ("values", "row_splits")
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
        if array.nbytes > self.meta["max_bytes"]:
            entry["kind"], entry["digest"] = "sampled", hashlib.sha256(np.ascontiguousarray(array)).hexdigest()
            entry["largest"] = float(np.max(np.abs(array[np.isfinite(array)]))) if np.isfinite(array).any() else 0.0
            array = array.ravel()[sample_places(array.size)]
        if once:   # what is fed in every run, or a variable that stays as it was, is kept once
            digest = hashlib.sha1(np.ascontiguousarray(array)).digest(), entry["dtype"], array.shape
            entry["key"] = self._kept_once.setdefault(digest, key)
        if entry["key"] == key:
            self._add(key, array)
        return entry

    def _add(self, key, array):
        if self._archive is None:
            self._archive = Archive()
        if self._failure is None:
            try:
                self._archive.add(key, array)
            except (IOError, OSError) as error:   # a full disk ends the recording, and leaves the script alone
                self._failure = error

    def _add_json(self, key, value):
        text = json.dumps(value, sort_keys=True).encode("utf-8")
        self._add(key, np.frombuffer(text, np.uint8))

    # The file.

    def save(self, path):
        """Write the recording; a file that is there already is replaced whole, or not at all."""
        meta = dict(self.meta, variables=self._variables, seeds=self._seeds)
        meta.setdefault("overrides", [])
        try:
            self._flush_journal()
            self._add_json("graphgrad", meta)
            if self._failure is not None:
                raise self._failure
            self._archive.move_to(path)
        except BaseException:
            self.discard()
            raise

    def discard(self):
        """Leave nothing behind."""
        if self._archive is not None:
            self._archive.discard()


@contextlib.contextmanager
def unrecorded():
    """What a script runs in this block is no part of its results: checks of its own, or what is new in it."""
    was, _PAUSED.on = getattr(_PAUSED, "on", False), True
    try:
        yield
    finally:
        _PAUSED.on = was


class _SessionState(object):
    """What is known of a session: its number, its initialised variables, the fetches after which it was asked."""

    def __init__(self, number):
        self.number = number
        self.known = {}
        self.tried = set()
        self.closed = False


class _Progress(object):
    """A line on stderr every two seconds, written over itself on a terminal."""

    def __init__(self):
        self._last = time.time()

    def say(self, now, text):
        if now - self._last > 2 and sys.stderr.isatty():
            self._last = now
            sys.stderr.write("\r" + text)
            sys.stderr.flush()


class Archive(object):
    """An .npz that grows while the script runs, in a temporary file that becomes the recording at the end.

    Args:
        temporary: the path of that file, see ``new_part``; one without a name, gone with this process, if None.
    """

    def __init__(self, temporary=None):
        self.temporary = temporary
        self._stream = io.open(temporary, "w+b") if temporary else tempfile.TemporaryFile()
        self._zip = zipfile.ZipFile(self._stream, "w", zipfile.ZIP_DEFLATED, True)

    def add(self, key, array):
        """Append one array."""
        text = io.BytesIO()
        np.lib.format.write_array(text, np.asarray(array), allow_pickle=False)
        entry = zipfile.ZipInfo(key + ".npy", (1980, 1, 1, 0, 0, 0))   # the same recording gives the same bytes
        small = array.nbytes < _DEFLATE_BELOW
        entry.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
        entry.external_attr = 0o644 << 16
        self._zip.writestr(entry, text.getvalue())

    def flush(self):
        """Give what was added to the system, so that it outlives this process."""
        self._stream.flush()

    def move_to(self, path):
        """Finish it, and put it in place of ``path`` in one step."""
        self._zip.close()
        self._stream.flush()
        path = os.path.abspath(path)
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):   # the script removed it
            os.makedirs(folder)
        if not self.temporary or not os.path.exists(self.temporary):
            self._copy_to(folder)
        self._stream.close()
        mask = os.umask(0)   # mkstemp makes files that only their owner can read
        os.umask(mask)
        os.chmod(self.temporary, 0o666 & ~mask)
        if os.name == "nt" and os.path.exists(path):
            os.remove(path)   # pragma: no cover (Windows)
        os.rename(self.temporary, path)

    def _copy_to(self, folder):
        copy = new_part(os.path.join(folder, "copy"))
        try:
            with io.open(copy, "wb") as stream:
                self._stream.seek(0)
                for block in iter(lambda: self._stream.read(1 << 20), b""):
                    stream.write(block)
        except BaseException:
            os.remove(copy)
            raise
        self.temporary = copy

    def discard(self):
        """Remove the temporary file."""
        for part in (self._zip, self._stream):
            try:
                part.close()
            except (IOError, OSError, ValueError):   # what could not be written is not wanted any more
                pass
        if self.temporary and os.path.exists(self.temporary):
            os.remove(self.temporary)


def new_part(path):
    """An empty temporary file beside ``path``; returns where it is."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, part = tempfile.mkstemp(prefix=".recording-", suffix=".part", dir=folder)
    os.close(descriptor)
    return part


def salvage(part, path, error):
    """Make a readable recording of the temporary file of a process that was killed; False if it holds no run."""
    archive = Archive(new_part(path))
    runs, meta = 0, None
    try:
        for name, content in _entries(part):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            if name.startswith("runs/"):
                runs += 1
            if name == "start":
                meta = json.loads(array.tobytes().decode("utf-8"))
            else:
                archive.add(name, array)
        if meta is None or not runs:
            archive.discard()
            return False
        meta.update(complete=False, error=error)
        archive.add("graphgrad", np.frombuffer(json.dumps(meta, sort_keys=True).encode("utf-8"), np.uint8))
        archive.move_to(path)
    except BaseException:
        archive.discard()
        raise
    return True


def _entries(part):
    """(name, bytes) of each whole entry of a zip file whose table of contents was not written."""
    with io.open(part, "rb") as stream:
        while True:
            header = stream.read(30)
            if len(header) < 30 or header[:4] != b"PK\x03\x04":
                return
            method, = struct.unpack("<H", header[8:10])
            packed, _, name_size, extra_size = struct.unpack("<IIHH", header[18:30])
            name = stream.read(name_size).decode("utf-8")
            extra = stream.read(extra_size)
            if len(extra) < extra_size:
                return
            if packed == 0xFFFFFFFF:   # zip64
                packed, = struct.unpack("<Q", extra[12:20])
            content = stream.read(packed)
            if len(content) < packed or not packed:   # its size is written last
                return
            yield name[:-len(".npy")], zlib.decompress(content, -15) if method == zipfile.ZIP_DEFLATED else content


def sample_places(size):
    """The flat places of the entries that are kept of an array that is too large."""
    return np.unique(np.linspace(0, size - 1, SAMPLES).astype(np.int64))


def _describe(graph):
    """Operations in the order in which they were built, which of them are random, and what they are gradients of."""
    definition = graph.as_graph_def()
    described = {"histogram": {}, "random": [], "variables": []}
    bodies = [("", definition.node)]
    bodies += [(function.signature.name + "/", function.node_def) for function in definition.library.function]
    for where, nodes in bodies:
        for node in nodes:
            described["histogram"][node.op] = described["histogram"].get(node.op, 0) + 1
            if "seed2" in node.attr:
                described["random"].append([where + node.name, node.op, node.attr["seed"].i, node.attr["seed2"].i])
    if len(definition.node) > _MAX_NODES:
        return described
    places = dict((node.name, place) for place, node in enumerate(definition.node))
    described["nodes"] = [[node.name, node.op, [
        places[word.split(":")[0]] for word in node.input if not word.startswith("^")]] for node in definition.node]
    described["tags"] = dict((node.name, _text(node.attr["_gradient_op_type"].s)) for node in definition.node
                             if "_gradient_op_type" in node.attr)
    described["forward"] = [[places[op.name], places[op._original_op.name]] for op in graph.get_operations()
                            if getattr(op, "_original_op", None) is not None and op.name in places
                            and op._original_op.name in places]
    return described


def _upstream(graph, fetches):
    """The tensors that fetches are made of, in the order of construction, as far as a run can fetch them."""
    names = [name.split(":")[0] for name, _ in _flatten(fetches, None)]
    front = [op for op in graph.get_operations() if op.name in names]
    seen = set(op.name for op in front)
    while front:
        for tensor in front.pop().inputs:
            if tensor.op.name not in seen:
                seen.add(tensor.op.name)
                front.append(tensor.op)
    return [tensor for op in graph.get_operations() for tensor in op.outputs
            if op.name in seen and op.type not in ("Const", "Placeholder")
            # The inside of a loop or branch cannot be fetched.
            and op._get_control_flow_context() is None and tensor.dtype.name not in ("resource", "variant")]


def _reader(variable):
    """A tensor of the graph that reads a variable; None where there is none."""
    for name in ("_snapshot", "_graph_element"):
        tensor = getattr(variable, name, None)
        if hasattr(tensor, "op"):
            return tensor
    return None


def _depends_on_chance(op):
    """Whether a random operation, or one whose body cannot be seen from here, is upstream of ``op``."""
    seen, front = set(), [op]
    while front:
        op = front.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        if op.type in ("PyFunc", "PyFuncStateless", "EagerPyFunc"):
            return True
        attributes = op.node_def.attr
        if "seed2" in attributes or any(attributes[name].WhichOneof("value") == "func" for name in attributes):
            return True
        front += [tensor.op for tensor in op.inputs]
    return False


def _called_by_saver(frame):
    while frame is not None:
        code = frame.f_code
        if code.co_name == "restore" and os.path.basename(code.co_filename).startswith("saver."):
            return True
        frame = frame.f_back
    return False


def _scope(graph):
    return _text(getattr(graph, "_name_stack", "") or "")


def _is_eager():
    context = sys.modules.get("tensorflow.python.eager.context")   # since TF 1.4
    return bool(context and getattr(context, "executing_eagerly", lambda: False)())


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
    """(name, value) of each leaf of a fetch structure, dicts in the order of their keys; all None if ``result`` is."""
    if isinstance(fetches, (list, tuple)):
        results = result if result is not None else [None] * len(fetches)
        return [leaf for pair in zip(fetches, results) for leaf in _flatten(*pair)]
    if isinstance(fetches, dict):
        return [leaf for key in sorted(fetches) for leaf in _flatten(
            fetches[key], None if result is None else result[key])]
    fields = getattr(type(fetches), "__attrs_attrs__", None)
    if fields:   # attrs classes are fetched by their fields
        return [leaf for field in fields for leaf in _flatten(
            getattr(fetches, field.name), None if result is None else getattr(result, field.name))]
    return [(_name(fetches), result)]


def _name(fetch):
    for name in (getattr(fetch, "name", None), getattr(getattr(fetch, "values", None), "name", None)):
        if name is not None:   # SparseTensor, IndexedSlices, RaggedTensor: by their values
            return _text(name)
    return _text(fetch)


def _text(value):
    """Text of bytes; what is no UTF-8 keeps its values in hexadecimal, as Python writes them."""
    if not isinstance(value, bytes):
        return str(value) if not hasattr(value, "encode") else value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(chr(byte) if 32 <= byte < 127 else "\\x{0:02x}".format(byte) for byte in bytearray(value))


def _sha256(path):
    with io.open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def _machine():
    """Python, numpy, and what of the processor decides how sums are rounded."""
    flags = set()
    if os.path.exists("/proc/cpuinfo"):   # pragma: no branch (other systems than Linux)
        with io.open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:   # pragma: no branch (a processor without flags)
                if line.startswith(("flags", "Features")):
                    flags = set(line.split(":", 1)[1].split())
                    break
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": "{0}-{1}".format(platform.system(), platform.machine()),
        "cpu_flags": [name for name in _CPU_FLAGS if name in flags],
        "threads": multiprocessing.cpu_count(),
        "environment": dict((name, os.environ[name]) for name in _ENVIRONMENT if name in os.environ),
    }


def _uses_onednn(version):
    """Whether TensorFlow's CPU kernels are oneDNN's: the default on x86 Linux since TF 2.9."""
    major, minor = (int(word) for word in version.split(".")[:2])
    chosen = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "").lower()
    if (major, minor) < (2, 5):
        return False
    if chosen:
        return chosen in ("1", "true")
    return (major, minor) >= (2, 9) and platform.machine() in ("x86_64", "AMD64") and sys.platform.startswith("linux")


# The command line.

def record(path, script, body, before=None, **options):
    """Run ``body()`` under a Recorder and write ``path``; returns the exit status.

    The script runs in a process of its own where there is fork, so that a recording is left also of one that is
    killed or crashes. What is at ``path`` already is replaced by a whole recording only; an incomplete one is then
    written beside it.

    Args:
        path: the file to write.
        script: the path of the script, for messages.
        body: runs the script.
        before: called before TensorFlow is patched, in the process that runs the script.
        options: of Recorder.

    Returns:
        0, or 2 if the script died, recorded nothing, or the file could not be written; the reason is on stderr. The
        script's process leaves by sys.exit.
    """
    path = os.path.abspath(path)
    try:
        part = new_part(path)
    except (IOError, OSError) as error:
        _say("{0} cannot be written: {1}.".format(path, error.strerror))
        return 2
    if not hasattr(os, "fork"):   # pragma: no cover (Windows)
        return _record_here(part, path, script, body, before, options)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        sys.exit(_record_here(part, path, script, body, before, options))   # so that what the script left for exit runs
    return _wait(child, part, path, script)


def _wait(child, part, path, script):
    """Wait for the recording process; make what it left readable if it did not come to its end."""
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)   # the terminal sends it to the child as well
    asked = signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, signal.SIGTERM))
    while True:
        try:
            _, status = os.waitpid(child, 0)
            break
        except OSError as error:   # pragma: no cover (Python 2.7 does not wait on after a signal)
            if error.errno != errno.EINTR:
                raise
    signal.signal(signal.SIGINT, ignored)
    signal.signal(signal.SIGTERM, asked)
    if not os.path.exists(part):
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 2
    if os.WIFSIGNALED(status):
        error = "the process was killed by signal {0}".format(os.WTERMSIG(status))
    else:
        error = "the process left by os._exit({0})".format(os.WEXITSTATUS(status))
    try:
        target = _place_for_incomplete(path)
        if salvage(part, target, error):
            _say("{0} did not come to its end: {1}; what it computed until then is in {2}, marked as incomplete."
                 .format(script, error, target))
        else:
            _say("{0} did not come to its end: {1}; nothing was recorded.".format(script, error))
    finally:
        os.remove(part)
    return 2


def _record_here(part, path, script, body, before, options):
    recorder = Recorder(script=script, archive=Archive(part), **options)
    recorder._add_json("start", recorder.meta)
    recorder._flush_journal()
    failed = None
    if before is not None:
        before()
    try:
        with recorder:
            body()
    except SystemExit as error:
        if error.code not in (None, 0):
            failed = "it called sys.exit({0!r})".format(error.code)
    except BaseException:
        failed = _failure(script)
    if os.getpid() != recorder._process:
        os._exit(1 if failed else 0)   # a process that the script forked off
    if not recorder.runs:
        recorder.discard()
        _say("{0} {1}, so {2} was not written.".format(
            script, "died before its first Session.run ({0})".format(failed) if failed
            else "made no Session.run, so there is nothing to record", path))
        return 2
    target = _place_for_incomplete(path) if failed else path
    try:
        recorder.save(target)
    except (IOError, OSError) as error:
        _say("{0} cannot be written: {1}.".format(target, error.strerror or error))
        return 2
    if failed:
        _say("{0} died after {1} runs ({2}); what it computed until then is in {3}, marked as incomplete.".format(
            script, recorder.runs, failed, target))
        return 2
    sys.stderr.write("graphgrad: recorded {0} runs to {1}\n".format(recorder.runs, target))
    return 0


def _failure(script):
    """Print the traceback from the script on; returns its last line."""
    kind, error, trace = sys.exc_info()
    inner = trace
    while inner is not None and os.path.abspath(inner.tb_frame.f_code.co_filename) != os.path.abspath(script):
        inner = inner.tb_next
    traceback.print_exception(kind, error, inner or trace)
    return "{0}: {1}".format(kind.__name__, error).strip().split("\n")[0]


def _place_for_incomplete(path):
    return path if not os.path.exists(path) else os.path.splitext(path)[0] + ".incomplete.npz"


def _say(sentence):
    sys.stderr.write("graphgrad record: " + sentence + "\n")


_USAGE = """usage: python recorder.py [options] SCRIPT [ARGS] -o OLD.npz
       python recorder.py [options] -o OLD.npz SCRIPT [ARGS]
options: --every N            keep the values of each N-th run only
         --max-bytes N        of larger arrays keep a digest and 1000 sampled entries
         --intermediates RUN  of that run keep every tensor upstream of its fetches too
"""


def main(argv=None):
    """Run the command line; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = {"every": 1, "max_bytes": MAX_BYTES, "intermediates": None}
    path = None
    try:
        while words and words[0] in ("-o", "--every", "--max-bytes", "--intermediates"):
            option, value = words.pop(0), words.pop(0)
            if option == "-o":
                path = value
            else:
                options[option[2:].replace("-", "_")] = int(value)
        if path is None and words[-2] == "-o":
            path = words.pop()
            words.pop()
        script = words.pop(0)
        if script.startswith("-") or path is None or min(options["every"], options["max_bytes"]) < 1:
            raise ValueError(script)
    except (IndexError, ValueError):
        sys.stderr.write(_USAGE)
        return 2
    if not os.path.isfile(script):
        _say("there is no script {0!r}.".format(script))
        return 2

    def body():
        sys.argv = [script] + words
        sys.path[0] = os.path.dirname(os.path.abspath(script))
        runpy.run_path(script, run_name="__main__")

    command = ["python", "recorder.py", os.path.basename(script)] + words
    return record(path, script, body, command=command, arguments=words, progress=True, **options)


if __name__ == "__main__":
    sys.exit(main())
