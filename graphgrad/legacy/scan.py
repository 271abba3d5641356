"""Find what will bite when old gradient code is ported, without running it or importing TensorFlow.

Each hazard has a number, GG01 to GG11, a severity ("error": fails or gives other numbers; "warning": may; "note"), a
place and what to write instead. Python 2 is scanned after its translation; what parses as neither is scanned token by
token, and that is said. Graph files (.pb, .meta, .pbtxt) are searched for gradient tags and py_func tokens.
"""
import ast
import collections
import difflib
import json
import os
import re

from ..errors import UsageError
from ..renamed import RENAMED
from ..whole import whole_file
from . import notebooks, python2, shims, world  # noqa: F401 (the last two enter what is gone)
from .catalogue import entries
from .first_gradients import FIRST

#: number -> what the class of hazards is, as in ``graphgrad scan --help``.
CLASSES = collections.OrderedDict((
    ("GG00", "the file could not be parsed"),
    ("GG01", "a key of an override that is no op type"),
    ("GG02", "a key that TensorFlow writes otherwise in another version"),
    ("GG03", "a gradient name that nobody registers, is registered twice, or is made at random"),
    ("GG04", "py_func: a key that misses one of its three op types, or a place where it cannot run"),
    ("GG05", "an override that opens too late, or a graph imported under one"),
    ("GG06", "an override of Identity around variables"),
    ("GG07", "a private or removed name"),
    ("GG08", "a call whose arguments mean something else today"),
    ("GG09", "eager mode turned off, and the rest of TensorFlow 2 left on"),
    ("GG10", "a graph file with gradient tags or py_func tokens"),
))

_FAMILIES = [row for row in RENAMED if not set(row) & {"Relu", "Round", "Maximum", "MatMul"}]
_PY_FUNCS = {"py_func": "PyFunc", "numpy_function": "PyFunc", "py_function": "EagerPyFunc"}
_KNOWN = FIRST | {name for row in RENAMED for name in row} | {
    "LeakyRelu", "Relu6Grad", "Rint", "ClipByValue", "Einsum", "Bitcast", "IdentityN", "MaxPoolV2", "RealDiv"}
_GRAPH_FILES = (".pb", ".meta", ".pbtxt")
_READ = (".py", ".ipynb") + _GRAPH_FILES
_MAKES_VARIABLES = {"Variable", "get_variable", "dense", "conv2d", "fully_connected", "batch_normalization"}


class Hazard(collections.namedtuple("Hazard", "path line code severity text fix")):
    """One finding.

    Attributes:
        path, line: where; lines of a notebook count through its code cells.
        code: a key of CLASSES.
        severity: "error", "warning" or "note".
        text: what it is and what to write instead.
        fix: (old, new) text in that line if the rewrite is certain, else None.
    """

    def __str__(self):
        return "{0.path}:{0.line}: {0.code} {0.severity}: {0.text}".format(self)


def scan(path):
    """Scan a file or a folder with all below it.

    Returns:
        A list of Hazard, by path and line.

    Raises:
        UsageError: the path is not there, or a folder without anything to scan.
    """
    paths = _paths(path)
    scans = [_FileScan(name) for name in paths]
    registered = collections.defaultdict(list)
    for one in scans:
        for name, line in one.registered:
            registered[name].append((one.path, line))
    hazards = [hazard for one in scans for hazard in one.hazards]
    for one in scans:
        for name, line in one.used:
            if name not in registered and name not in FIRST:
                hazards.append(Hazard(one.path, line, "GG03", "error", (
                    "the gradient name {!r} is not registered in what was scanned; tf.gradients through what it tags "
                    "raises a LookupError that does not name it.".format(name)), None))
        for name, line in one.tags:
            if name not in registered and name not in FIRST:
                hazards.append(Hazard(one.path, line, "GG10", "error", (
                    "operations are tagged with gradient {!r}, which nothing that was scanned registers.".format(name)),
                    None))
    for name, places in registered.items():
        for path, line in places[1:]:
            hazards.append(Hazard(path, line, "GG03", "warning", (
                "the gradient name {!r} is registered at {}:{} too; TensorFlow raises KeyError at the second.".format(
                    name, *places[0])), None))
    return sorted(hazards, key=lambda hazard: (hazard.path, hazard.line, hazard.code))


def _paths(path):
    if not os.path.exists(path):
        raise UsageError("There is nothing at {} to scan.".format(path))
    if not os.path.isdir(path):
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__"
                            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg")))
        found += [path for path in (os.path.join(folder, name) for name in sorted(names) if name.endswith(_READ))
                  if os.path.isfile(path)]   # a pipe or a device has no end
    if not found:
        raise UsageError("{} holds no Python file, notebook or graph file to scan.".format(path))
    return found


class _FileScan:
    """What is in one file: ``hazards``, and names of gradients ``registered``, ``used`` and (graph files) ``tags``."""

    def __init__(self, path):
        self.path = path
        self.hazards, self.registered, self.used, self.tags = [], [], [], []
        with open(path, "rb") as stream:
            data = stream.read()
        if path.endswith(_GRAPH_FILES):
            self._graph(data)
            return
        if path.endswith(".ipynb"):
            try:
                data = notebooks.source_of(data, path).encode("utf-8")
            except UsageError as error:
                self.add(1, "GG00", "warning", str(error))
                return
        tree = self._parse(data)
        if tree is not None:
            try:
                _Visitor(self).visit(tree)
            except RecursionError:
                self.add(1, "GG00", "warning", "nested too deeply to be walked through; the rest is only searched for "
                         "words.")
                self._words(data.decode("utf-8", "replace"))

    def add(self, line, code, severity, text, fix=None):
        """Note a hazard."""
        self.hazards.append(Hazard(self.path, line, code, severity, text, fix))

    def _parse(self, data):
        try:
            return ast.parse(data)
        except (SyntaxError, ValueError) as error:
            line, what = getattr(error, "lineno", None) or 1, getattr(error, "msg", error)
        except (RecursionError, MemoryError):   # what Python's parser raises depends on its version
            line, what = 1, "nested too deeply"
        text = data.decode("utf-8", "replace")
        try:
            tree = ast.parse(python2.translate(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.add(line, "GG00", "warning", "not Python 3 ({}) nor Python 2 that graphgrad can read; only searched "
                     "for words.".format(what))
            self._words(text)
            return None
        self.add(line, "GG00", "note", "Python 2 ({}); scanned after translation. `graphgrad run` translates it in "
                 "memory.".format(what))
        return tree

    def _words(self, text):
        gone = entries("tensorflow")
        for number, line in enumerate(text.splitlines(), 1):
            code = line.split("#", 1)[0]
            for match in re.finditer(r"\btf\.(\w+)", code):
                if match.group(1) in gone:
                    self.add(number, "GG07", "error", _gone_text(gone[match.group(1)]))
            for match in re.finditer(r"gradient_override_map\(\s*{(.*?)}", code):
                for key in re.findall(r"['\"](\w+)['\"]\s*:", match.group(1)):
                    self.key(number, key)

    def _graph(self, data):
        for match in re.finditer(rb"_gradient_op_type(?:\x12.\x12(.)|\"?\s*value\s*{\s*s:\s*\"([^\"]*)\")", data, re.S):
            if match.group(1) is not None:
                length = match.group(1)[0]
                name = data[match.end():match.end() + length].decode("utf-8", "replace")
            else:
                name = match.group(2).decode("utf-8", "replace")
            if not name.startswith(("CustomGradient-", "PartitionedCall-")) and (name, 1) not in self.tags:
                self.tags.append((name, 1))
        tokens = sorted(set(re.findall(rb"pyfunc_\d+", data)))
        if tokens:
            self.add(1, "GG10", "error", "holds py_func tokens ({}), which mean whatever function has that number in "
                     "the process that loads it: build these operations anew.".format(
                         ", ".join(token.decode() for token in tokens[:5])))

    def key(self, line, key):
        """Check one key of an override map."""
        if key not in _KNOWN:
            near = [name for name in _KNOWN if name.lower() == key.lower().replace("_", "")]
            if near:
                self.add(line, "GG01", "error", "{!r} is no op type: TensorFlow ignores it in silence; {!r} is meant."
                         .format(key, near[0]))
            return
        for row in _FAMILIES:
            if key in row and "PyFunc" not in row and "Identity" not in row:
                others = [name for name in row if name != key]
                self.add(line, "GG02", "warning", "what one version of TensorFlow writes as {}, others write as {}: "
                         "the key may match nothing in silence; map {} too.".format(
                             key, " or ".join(others), "them" if len(others) > 1 else "it"))


class _Visitor(ast.NodeVisitor):
    """Walks one module: resolves names through its imports, and looks at calls, with blocks and attributes."""

    def __init__(self, file):
        self.file = file
        self.names = {}            # local name -> dotted path
        self.maps = []             # keys of the override blocks that are open
        self.strings = {}          # local name -> what it was assigned
        self.turned_off = None
        self.v2_off = self.seeded = False
        self.unseeded = []

    def visit_Module(self, node):   # noqa: N802 (ast's name)
        self.generic_visit(node)
        if self.turned_off and not self.v2_off:
            self.file.add(self.turned_off, "GG09", "warning", (
                "disable_eager_execution() leaves control flow v2 and resource variables on: an override outside of "
                "tf.cond, while_loop, map_fn or scan is dropped in silence, and variable reads are no Identity; call "
                "tf.disable_v2_behavior()."), ("disable_eager_execution", "disable_v2_behavior"))
        if self.seeded and self.unseeded:
            self.file.add(self.unseeded[0], "GG08", "note", (
                "{} random operation(s) rely on the graph's seed alone: TensorFlow 2 derives op seeds otherwise and "
                "draws other numbers; give each seed=, or use `graphgrad run`.".format(len(self.unseeded))))

    def visit_Import(self, node):   # noqa: N802
        for alias in node.names:
            self.names[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0])
            self._imported(node.lineno, alias.name)

    def visit_ImportFrom(self, node):   # noqa: N802
        if node.level or not node.module:
            return
        for alias in node.names:
            full = "{}.{}".format(node.module, alias.name)
            self.names[alias.asname or alias.name] = full
            self._imported(node.lineno, full)

    def _imported(self, line, full):
        full = _plain(full)
        if full.startswith("tensorflow.contrib"):
            self.file.add(line, "GG07", "error", "{} is gone since TF 2.0; `graphgrad run` supplies its common parts."
                          .format(full))
            return
        module, _, name = full.rpartition(".")
        entry = entries(module).get(name)
        if entry is not None:
            self.file.add(line, "GG07", "error", _gone_text(entry))

    def path_of(self, node):
        """The dotted path that an expression names, or None."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return _plain(".".join([self.names[node.id]] + parts[::-1]))

    def visit_Attribute(self, node):   # noqa: N802
        full = self.path_of(node)
        if full is None:
            self.generic_visit(node)
            return
        parts = full.split(".")
        for end in range(2, len(parts) + 1):
            module, name = ".".join(parts[:end - 1]), parts[end - 1]
            if module == "tensorflow" and name == "contrib":
                self.file.add(node.lineno, "GG07", "error", "{} is gone since TF 2.0; `graphgrad run` supplies its "
                              "common parts.".format(full))
                return
            entry = entries(module).get(name)
            if entry is not None:
                fix = None
                if end == len(parts) and re.match(r"(tf|np)\.[\w.]+$", entry.now) and module in ("tensorflow", "numpy"):
                    written = _written(node)
                    fix = (written, "{}.{}".format(written.rpartition(".")[0], entry.now.partition(".")[2]))
                elif end == len(parts) and name.startswith("_") and ".gen_" in module:
                    fix = (_written(node), _written(node).replace("._", "."))
                if entry.name in ("select", "scalar_summary", "histogram_summary", "image_summary", "audio_summary",
                                  "listdiff", "op_scope", "rank"):
                    fix = None   # other arguments
                self.file.add(node.lineno, "GG07", "error", _gone_text(entry), fix)
                return
        if "_gradient_registry._registry" in full or full.endswith("_IsBackpropagatable"):
            self.file.add(node.lineno, "GG07", "warning", "{} is private; use graphgrad.register_gradient and "
                          "override_gradients(...).on(graph).".format(full))

    def visit_Assign(self, node):   # noqa: N802
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.strings[node.targets[0].id] = node.value
        self.generic_visit(node)

    def visit_With(self, node):   # noqa: N802
        keys = [key for item in node.items for key in self._override_keys(item.context_expr)]
        self.maps.append(keys)
        if keys:
            self._block(node, keys)
        self.generic_visit(node)
        self.maps.pop()

    def _override_keys(self, call):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
                and call.func.attr == "gradient_override_map" and call.args):
            return []
        mapping = call.args[0]
        if isinstance(mapping, ast.Name):
            mapping = self.strings.get(mapping.id)
        if not isinstance(mapping, ast.Dict):
            return []
        keys = []
        for key, value in zip(mapping.keys, mapping.values):
            if _text(key) is not None:
                keys.append(_text(key))
                self.file.key(key.lineno, _text(key))
            if _text(value) is not None:
                self.file.used.append((_text(value), value.lineno))
            elif isinstance(value, ast.Name) and _text(self.strings.get(value.id)) is not None:
                self.file.used.append((_text(self.strings[value.id]), value.lineno))
        return keys

    def _block(self, node, keys):
        calls = [call for statement in node.body for call in ast.walk(statement) if isinstance(call, ast.Call)]
        names = [call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                 for call in calls]
        if names and all(name in ("gradients", "compute_gradients", "gradient", "minimize") for name in names):
            self.file.add(node.lineno, "GG05", "error", "the override is open only around {}: operations are tagged "
                          "when they are built, so it does nothing; open it around the forward pass, or use "
                          "graphgrad.override_gradients(...).on(graph).".format(names[0]))
        if "import_graph_def" in names or "import_meta_graph" in names:
            self.file.add(node.lineno, "GG05", "warning", "a graph imported under an override is tagged anew, over "
                          "tags that it has; use override_gradients(...).on(graph).")
        if "Identity" in keys and set(names) & _MAKES_VARIABLES:
            self.file.add(node.lineno, "GG06", "error", "variables are made under an override of Identity: with TF 1's "
                          "variables their reads are Identity too and get the override, with resource variables not; "
                          "make them outside.")

    def visit_Call(self, node):   # noqa: N802
        full = self.path_of(node.func) or ""
        name = full.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if name == "RegisterGradient" and node.args:
            self._registration(node)
        if full.startswith("tensorflow"):
            self._tensorflow_call(node, name, keywords)
        elif full.endswith(("backend.get_session", "backend.set_session", "backend.learning_phase")) and \
                full.startswith("keras"):
            self.file.add(node.lineno, "GG08", "error", "{} is gone in Keras 3; install tf_keras and use `graphgrad "
                          "run`.".format(full))
        self.generic_visit(node)

    def _registration(self, node):
        name = node.args[0]
        if isinstance(name, ast.Name):
            name = self.strings.get(name.id, name)
        if _text(name) is not None:
            self.file.registered.append((_text(name), node.lineno))
        elif "rand" in ast.dump(name):
            self.file.add(node.lineno, "GG03", "warning", "a gradient name made at random may be taken, takes from the "
                          "random stream, and cannot be found when the graph is loaded elsewhere; "
                          "graphgrad.py_func_with_grad needs none.")

    def _tensorflow_call(self, node, name, keywords):
        line, args = node.lineno, node.args
        keys = [key for keys in self.maps for key in keys]
        if name in _PY_FUNCS:
            kind = _PY_FUNCS[name]
            stateful = keywords.get("stateful", args[3] if name == "py_func" and len(args) > 3 else None)
            if getattr(stateful, "value", None) is False:
                kind = "PyFuncStateless"
            family = {"PyFunc", "PyFuncStateless", "EagerPyFunc"} & set(keys)
            if family and kind not in family:
                self.file.add(line, "GG04", "error", "this call builds {}, which the key {} misses in silence; map "
                              "{!r}.".format(kind, " and ".join(sorted(family)), kind))
        elif name == "device" and args and re.search(r"/job:(ps|worker)", _text(args[0]) or ""):
            self.file.add(line, "GG04", "note", "a py_func under this device runs only in the process that built it.")
        elif name.endswith("cross_entropy_with_logits") and len(args) >= 2:
            self.file.add(line, "GG08", "error", "by position TensorFlow 0.x takes (logits, labels) and 2.x (labels, "
                          "logits), in silence; write labels= and logits=.")
        elif name == "dropout" and len(args) >= 2 and "rate" not in keywords:
            self.file.add(line, "GG08", "warning", "the second argument is keep_prob in TF 1 and rate in TF 2; write "
                          "rate=1 - keep_prob.")
        elif args and _is_number(args[0]) and (name == "concat" or name == "split" and len(args) > 1):
            self.file.add(line, "GG08", "error", "the axis comes first in TensorFlow 0.x only; write tf.{}.".format(
                "concat(values, axis)" if name == "concat" else "split(value, n, axis)"))
        elif name == "disable_eager_execution":
            self.turned_off = line
        elif name == "disable_v2_behavior":
            self.v2_off = True
        elif name in ("set_random_seed", "set_seed"):
            self.seeded = True
        elif name in ("random_normal", "random_uniform", "truncated_normal", "dropout", "random_shuffle") \
                and "seed" not in keywords:
            self.unseeded.append(line)


def _plain(full):
    """tensorflow.compat.v1.x is tensorflow.x here."""
    for prefix in ("tensorflow.compat.v1", "tensorflow.compat.v2"):
        if full == prefix or full.startswith(prefix + "."):
            return "tensorflow" + full[len(prefix):]
    return full


def _text(node):
    value = getattr(node, "s" if type(node).__name__ == "Str" else "value", None)   # ast.Str before Python 3.8
    return value if isinstance(value, str) else None


def _is_number(node):
    value = getattr(node, "n" if type(node).__name__ == "Num" else "value", None)
    return isinstance(value, int) and not isinstance(value, bool)


def _written(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id] + parts[::-1])


def _gone_text(entry):
    module = "tf" if entry.module == "tensorflow" else entry.module.replace("tensorflow.", "tf.", 1) \
        if not entry.module.startswith("tensorflow.python") else entry.module
    return "{}.{} is gone since {}; write {}.".format(module, entry.name, entry.gone, entry.now)


# --- What is done with them -------------------------------------------------------------------------------

def fixes(hazards):
    """The rewrites that are certain: {path: new text}, for files that have any. Notebooks are left alone."""
    by_path = collections.defaultdict(list)
    for hazard in hazards:
        if hazard.fix is not None and hazard.path.endswith(".py"):
            by_path[hazard.path].append(hazard)
    new = {}
    for path, found in by_path.items():
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
            lines = stream.read().splitlines(True)
        for hazard in found:
            old, now = hazard.fix
            lines[hazard.line - 1] = re.sub(r"(?<![\w.]){}(?!\w)".format(re.escape(old)) if "." in old else
                                            r"\b{}\b".format(re.escape(old)), now, lines[hazard.line - 1])
        new[path] = "".join(lines)
    return new


def diff(path, text):
    """A unified diff from a file to a new text."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        old = stream.read()
    return "".join(difflib.unified_diff(old.splitlines(True), text.splitlines(True), path, path))


def as_json(hazards):
    """A JSON text: a list of objects with the attributes of Hazard."""
    return json.dumps([hazard._asdict() for hazard in hazards], indent=1)


def as_sarif(hazards):
    """A SARIF 2.1.0 log, for code scanning services."""
    return json.dumps({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "graphgrad", "rules": [
                {"id": code, "shortDescription": {"text": text}} for code, text in CLASSES.items()]}},
            "results": [{
                "ruleId": hazard.code, "level": hazard.severity, "message": {"text": hazard.text},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": hazard.path.replace(os.sep, "/")},
                    "region": {"startLine": hazard.line}}}]} for hazard in hazards]}]}, indent=1)


def command(options):
    """``graphgrad scan``; returns the exit status: 0 clean, 1 hazards (notes are none)."""
    hazards = scan(options.path)
    if options.fix or options.write:
        for path, text in sorted(fixes(hazards).items()):
            print(diff(path, text), end="")
            if options.write:
                try:
                    with whole_file(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
                        stream.write(text)
                except OSError as error:
                    raise UsageError("{} cannot be written: {}.".format(path, error.strerror)) from None
        return 0
    if options.format == "json":
        print(as_json(hazards))
    elif options.format == "sarif":
        print(as_sarif(hazards))
    else:
        for hazard in hazards:
            print(hazard)
        print("{} hazards in {}.".format(len(hazards), options.path))
    return 1 if any(hazard.severity != "note" for hazard in hazards) else 0
