"""Python 2 in memory: what is no Python 3 is translated as it is compiled; no file is changed.

Two steps. On tokens, what Python 3 cannot parse: print and exec statements, ``except E, e``, ``raise E, v``,
backquotes, ``<>``, octal and long literals, ur"". On the syntax tree, what parses and means something else:
``/`` between integers, keys/values/items that were lists, iteritems and its like, has_key. Names that went (xrange,
unicode, ...) are put into the module. lib2to3 is not used: Python 3.13 has none.
Parameters that are tuples take part in both: on tokens they become one name, on the tree that name is taken apart.
"""
import ast
import builtins
import functools
import importlib
import importlib.machinery
import os
import re
import sys

_TOKEN = re.compile(r"""
    (?P<comment>\#[^\n]*)
  | (?P<string>(?:[uU]?[rR]?|[bB][rR]?)(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"
        |'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
  | (?P<number>0[xX][0-9a-fA-F]+[lL]?|0[bB][01]+[lL]?|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[jJlL]?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<joined>\\\r?\n)
  | (?P<newline>\r?\n)
  | (?P<space>[ \t\f]+)
  | (?P<operator>\*\*=|//=|>>=|<<=|<>|!=|==|<=|>=|\*\*|//|<<|>>|\+=|-=|\*=|/=|%=|&=|\|=|\^=|->|.)
""", re.X | re.S)


def translate(text):
    """Python 3 source for Python 2 source, line for line.

    Raises:
        SyntaxError: the result is no Python 3 either.
    """
    tokens = [[match.lastgroup, match.group()] for match in _TOKEN.finditer(text)]
    for token in tokens:
        _literal(token)
    tokens = _tuple_parameters(tokens)
    is_function = re.search(r"^from\s+__future__\s+import[^#\n]*\bprint_function\b", text, re.M) is not None
    return "".join(_statements(line, is_function) for line in _logical_lines(tokens))


def _literal(token):
    kind, text = token
    if kind == "number":
        text = text.rstrip("lL") if text[-1] in "lL" else text
        if re.match(r"0\d+$", text):
            text = ("0o" + text.lstrip("0")) if text.strip("0") else "0"
        token[1] = text
    elif kind == "string" and text[:2].lower() == "ur":
        token[1] = text[1:]
    elif kind == "operator" and text == "<>":
        token[1] = "!="


_PACKED = "__py2_tuple_"


def _tuple_parameters(tokens):
    """``def f(a, (b, c)):`` and ``lambda (k, v): k``: each tuple becomes a name that holds its text."""
    out, index = [], 0
    parameters = None   # depth of brackets inside the parameter list; None outside of one
    before = ""
    waiting = ""        # "def" until its bracket opens
    while index < len(tokens):
        kind, text = tokens[index]
        if kind in ("space", "comment", "newline", "joined"):
            out.append(tokens[index])
            index += 1
            continue
        if parameters == 0 and text == "(" and before in ("(", ",", "lambda"):
            end, depth = index, 0
            while True:
                depth += (tokens[end][1] in "([{") - (tokens[end][1] in ")]}") if tokens[end][0] == "operator" else 0
                if depth == 0:
                    break
                end += 1
            whole = " ".join(_text(tokens[index:end + 1]).split())
            out.append(["name", _PACKED + whole.encode("utf-8").hex()])
            index, before = end + 1, ")"
            continue
        if kind == "name" and text in ("def", "lambda"):
            waiting, parameters = (text, None) if text == "def" else ("", 0)
        elif waiting == "def" and text == "(":
            waiting, parameters = "", 0
        elif parameters is not None and kind == "operator":
            if text in "([{":
                parameters += 1
            elif text in ")]}":
                parameters = parameters - 1 if parameters else None
            elif text == ":" and parameters == 0:
                parameters = None
        before = text
        out.append(tokens[index])
        index += 1
    return out


def _logical_lines(tokens):
    line, depth = [], 0
    for token in tokens:
        line.append(token)
        if token[0] == "operator":
            depth += (token[1] in "([{") - (token[1] in ")]}")
        if token[0] == "newline" and depth <= 0:
            yield line
            line, depth = [], 0
    if line:
        yield line


def _statements(tokens, print_is_function):
    """One logical line: its parts between semicolons and after the colon of a one-line block."""
    out, part, depth, in_lambda = [], [], 0, 0
    first = _first_word(tokens)
    opens = first in ("if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class")
    for token in tokens:
        text = token[1]
        if token[0] == "operator":
            depth += (text in "([{") - (text in ")]}")
        elif token[0] == "name" and text == "lambda":
            in_lambda += 1
        if token[0] == "operator" and depth == 0 and text == ";":
            out += [_statement(part, print_is_function), text]
            part = []
        elif token[0] == "operator" and depth == 0 and text == ":" and in_lambda:
            in_lambda -= 1
            part.append(token)
        elif token[0] == "operator" and depth == 0 and text == ":" and opens:
            opens = False
            out += [_statement(part, print_is_function), text]
            part = []
        else:
            part.append(token)
    out.append(_statement(part, print_is_function))
    return "".join(out)


def _first_word(tokens):
    for kind, text in tokens:
        if kind not in ("space", "comment", "newline", "joined"):
            return text
    return ""


def _statement(tokens, print_is_function):
    tokens = _backquotes(tokens)
    start = 0
    while start < len(tokens) and tokens[start][0] in ("space", "newline", "comment", "joined"):
        start += 1
    end = len(tokens)
    while end > start and tokens[end - 1][0] in ("space", "newline", "comment", "joined"):
        end -= 1
    head, body, tail = _text(tokens[:start]), tokens[start:end], _text(tokens[end:])
    if not body:
        return head + tail
    word = body[0][1] if body[0][0] == "name" else ""
    rest = body[1:]
    if word == "print" and not print_is_function and _first_word(rest) not in ("=", "."):
        return head + _print(rest) + tail
    if word == "exec" and rest and _first_word(rest) != "(":
        return head + _exec(rest) + tail
    if word == "raise":
        parts = _split(rest, ",")
        if len(parts) > 1:
            value = "raise {}({})".format(_text(parts[0]).strip(), _text(parts[1]).strip())
            if _text(parts[1]).strip() == "None":
                value = "raise {}()".format(_text(parts[0]).strip())
            if len(parts) > 2:
                value += ".with_traceback({})".format(_text(parts[2]).strip())
            return head + value + tail
    if word == "except":
        parts = _split(rest, ",")
        if len(parts) == 2:
            return "{}except{} as {}{}".format(head, _text(parts[0]), _text(parts[1]).strip(), tail)
    return head + _text(body) + tail


def _print(rest):
    if not rest:
        return "print()"
    stream, comma = None, False
    parts = _split(rest, ",")
    if _first_word(rest) == ">>":
        stream = _text(parts[0]).strip()[2:].strip()
        parts = parts[1:]
    if len(parts) > 1 and not _text(parts[-1]).strip():
        comma, parts = True, parts[:-1]
    words = [_text(part).strip() for part in parts]
    arguments = [word for word in words if word]
    if comma:
        arguments.append('end=" "')
    if stream is not None:
        arguments.append("file=" + stream)
    return "print({})".format(", ".join(arguments))


def _exec(rest):
    parts = _split(rest, "in", kind="name")
    code = _text(parts[0]).strip()
    if len(parts) == 1:
        return "exec({})".format(code)
    return "exec({}, {})".format(code, _text(parts[1]).strip())


def _split(tokens, separator, kind="operator"):
    parts, depth = [[]], 0
    for token in tokens:
        if token[0] == "operator":
            depth += (token[1] in "([{") - (token[1] in ")]}")
        if depth == 0 and token[0] == kind and token[1] == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _backquotes(tokens):
    out, inside = [], False
    for kind, text in tokens:
        if kind == "operator" and text == "`":
            out.append(["operator", ")" if inside else "repr("])
            inside = not inside
        else:
            out.append([kind, text])
    return out


def _text(tokens):
    return "".join(text for _, text in tokens)


# --- On the syntax tree ---------------------------------------------------------------------------------

_METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys", "viewitems": "items",
            "viewkeys": "keys", "viewvalues": "values"}


class _Meanings(ast.NodeTransformer):
    def __init__(self, true_division):
        self.true_division = true_division

    def visit_Call(self, node):   # noqa: N802 (ast's name)
        self.generic_visit(node)
        method = node.func
        if isinstance(method, ast.Attribute) and not node.args and not node.keywords:
            if method.attr in _METHODS:
                return ast.copy_location(_call("__py2_iter__", method.value, _word(_METHODS[method.attr]),
                                               _word(method.attr)), node)
            if method.attr in ("keys", "values", "items"):
                return ast.copy_location(_call("__py2_list__", node), node)
        if isinstance(method, ast.Attribute) and method.attr == "has_key" and len(node.args) == 1:
            return ast.copy_location(ast.Compare(node.args[0], [ast.In()], [method.value]), node)
        if isinstance(method, ast.Attribute) and method.attr == "next" and not node.args and not node.keywords:
            return ast.copy_location(_call("__py2_next__", method.value), node)
        return node

    def visit_FunctionDef(self, node):   # noqa: N802
        self.generic_visit(node)
        packed = [argument.arg for argument in node.args.args if argument.arg.startswith(_PACKED)]
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        for name in reversed(packed):
            target = ast.parse("{} = {}".format(_unpacked(name), name)).body[0]
            for part in ast.walk(target):
                ast.copy_location(part, node.body[0])
            node.body.insert(first, target)
        return node

    def visit_Lambda(self, node):   # noqa: N802
        self.generic_visit(node)
        for argument in node.args.args:
            if argument.arg.startswith(_PACKED):
                places = {}
                _places(ast.parse(_unpacked(argument.arg), mode="eval").body, argument.arg, places)
                node.body = _Substitute(places).visit(node.body)
        return node

    def visit_BinOp(self, node):   # noqa: N802
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and not self.true_division:
            return ast.copy_location(_call("__py2_div__", node.left, node.right), node)
        return node

    def visit_AugAssign(self, node):   # noqa: N802
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and not self.true_division and isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
            return ast.copy_location(ast.Assign([node.target], _call("__py2_div__", read, node.value)), node)
        return node


class _Substitute(ast.NodeTransformer):
    def __init__(self, places):
        self.places = places

    def visit_Name(self, node):   # noqa: N802
        if node.id not in self.places:
            return node
        return ast.copy_location(ast.parse(self.places[node.id], mode="eval").body, node)


def _unpacked(name):
    return bytes.fromhex(name[len(_PACKED):]).decode("utf-8")


def _places(node, path, places):
    """{"b": "t[0]", "c": "t[1][0]"} for the tuple (b, (c,)) in t."""
    if isinstance(node, ast.Name):
        places[node.id] = path
        return
    for index, part in enumerate(node.elts):
        _places(part, "{}[{}]".format(path, index), places)


def _word(text):
    return ast.Str(text) if sys.version_info < (3, 8) else ast.Constant(text)


def _call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _div(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    kinds = [getattr(getattr(value, "dtype", None), "kind", "i" if isinstance(value, int) else "") for value in (a, b)]
    return a // b if all(kind and kind in "iub" for kind in kinds) else a / b


def _list(value):
    return list(value) if type(value) in (type({}.keys()), type({}.values()), type({}.items())) else value


def _iterate(value, method, old):
    return iter(getattr(value, method)()) if not hasattr(value, old) else getattr(value, old)()


def _next(value):
    return value.next() if hasattr(value, "next") else next(value)


def _names():
    def listed(function):
        return functools.wraps(function)(lambda *args: list(function(*args)))

    def old_map(function, *sequences):
        if function is None:
            return list(zip(*sequences)) if len(sequences) > 1 else list(sequences[0])
        return list(map(function, *sequences))

    def old_sorted(iterable, cmp=None, key=None, reverse=False):
        return sorted(iterable, key=functools.cmp_to_key(cmp) if cmp else key, reverse=reverse)

    def execfile(path, globals=None, locals=None):
        frame = sys._getframe(1)
        with open(path, "rb") as stream:
            exec(compile_any(stream.read(), path), globals if globals is not None else frame.f_globals, locals)

    return {
        "xrange": range, "range": listed(range), "map": old_map, "filter": lambda f, s: list(filter(f, s)),
        "zip": listed(zip), "unicode": str, "basestring": (str, bytes), "long": int, "unichr": chr,
        "raw_input": input, "reduce": functools.reduce, "cmp": lambda a, b: (a > b) - (a < b), "file": open,
        "sorted": old_sorted, "reload": importlib.reload, "execfile": execfile, "intern": sys.intern,
        "buffer": memoryview, "apply": lambda f, args=(), kwargs=None: f(*args, **(kwargs or {})),
        "StandardError": Exception, "__py2_div__": _div, "__py2_list__": _list, "__py2_iter__": _iterate,
        "__py2_next__": _next}


def compile_python2(source, path):
    """Code for Python 2 source (bytes), said on stderr.

    Raises:
        SyntaxError: it is not Python 2 either, or uses what is not translated.
    """
    text = _decode(source).expandtabs(8) if b"\t" in source else _decode(source)
    tree = ast.parse(translate(text), path)
    future = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
              for alias in node.names}
    tree = _Meanings("division" in future).visit(tree)
    _prelude(tree)
    ast.fix_missing_locations(tree)
    code = compile(tree, path, "exec", dont_inherit=True)
    if path not in TRANSLATED:
        TRANSLATED.append(path)
        print("graphgrad: {} is Python 2; translated in memory, the file stays as it is (--no-py2 turns this "
              "off).".format(path), file=sys.stderr)
    return code


#: Words that say "perhaps Python 2": names of builtins and modules that went, and methods of dicts.
_BUILTINS = {"xrange", "unicode", "basestring", "raw_input", "unichr", "execfile"}
_LIBRARY = {"cPickle", "urllib2", "ConfigParser", "StringIO", "cStringIO", "Queue", "urlparse"}
_HINT = re.compile(r"\b(?:{})\b".format("|".join(sorted(_BUILTINS | _LIBRARY | set(_METHODS) | {"has_key"}))).encode())


def is_python2(source):
    """Whether source (bytes) that Python 3 can parse was written for Python 2, whose ``/`` is another.

    It was if it uses what Python 3 has not, without providing for that: a builtin that it does not define itself, a
    module that it imports outside of ``try``, a dict's ``iteritems()`` (where no pandas is about, which had that too).
    """
    if not _HINT.search(source):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    given, used, tried = set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            tried.update(id(inner) for inner in ast.walk(node))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.name.partition(".")[0] for alias in node.names} if isinstance(node, ast.Import) else {
                node.module} if not node.level else set()
            given.update(alias.asname or alias.name for alias in node.names)
            if id(node) not in tried:
                used |= names & (_LIBRARY | {"pandas"})
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) and id(node) not in tried else given).add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _METHODS and not node.args or node.func.attr == "has_key":
                used.add("dict." + node.func.attr)
    methods = {name for name in used if name.startswith("dict.")} if "pandas" not in used else set()
    return bool(methods or used & _LIBRARY or (used & _BUILTINS) - given)


def compile_any(source, path):
    """Code for Python 3 source, or else for Python 2 source."""
    if is_python2(source):
        return compile_python2(source, path)
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        try:
            return compile_python2(source, path)
        except (SyntaxError, ValueError):
            raise error from None


#: The files that were translated in this process.
TRANSLATED = []


def _prelude(tree):
    """Import the names that Python 2 had, after the docstring and what must come first."""
    index = 0
    for node in tree.body:
        docstring = index == 0 and ast.get_docstring(tree, clean=False) is not None
        if not (docstring or isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        index += 1
    line = "import graphgrad.legacy.python2 as __py2__; globals().update(__py2__.NAMES); del __py2__"
    tree.body[index:index] = ast.parse(line).body


def _decode(source):
    match = re.match(rb"(?:[^\n]*\n)?[ \t]*#.*?coding[:=][ \t]*([-\w.]+)", source)
    encoding = match.group(1).decode() if match else "utf-8"
    try:
        return source.decode(encoding).lstrip("\ufeff")
    except (LookupError, UnicodeDecodeError):
        return source.decode("latin-1")


NAMES = _names()


def install():
    """Translate Python 2 modules as they are imported, but none that is installed; returns what undoes it.

    A translated module is not written to __pycache__. A Python 2 package's ``import sibling`` finds the sibling.
    """
    loader = importlib.machinery.SourceFileLoader
    compile_before, cache_before, import_before = loader.source_to_code, loader._cache_bytecode, builtins.__import__
    code_before = loader.get_code
    library = os.path.dirname(os.path.abspath(os.__file__)) + os.sep

    def is_theirs(path):
        return "-packages" + os.sep in str(path) or str(path).startswith(library)

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        if path.endswith(".py") and not is_theirs(path):
            source = self.get_data(path)
            if is_python2(source):   # which Python 3 may have compiled before, and kept
                return compile_python2(source, path)
        return code_before(self, fullname)

    def source_to_code(self, data, path, *args, **kwargs):
        try:
            return compile_before(self, data, path, *args, **kwargs)
        except SyntaxError:
            if not isinstance(data, bytes) or is_theirs(path):
                raise
            return compile_any(data, path)

    def cache_bytecode(self, source_path, *args, **kwargs):
        if source_path not in TRANSLATED:
            return cache_before(self, source_path, *args, **kwargs)

    def sibling_import(name, globals=None, locals=None, fromlist=(), level=0):
        try:
            return import_before(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            package = (globals or {}).get("__package__")
            if level or not package or error.name != name.partition(".")[0] \
                    or "-packages" + os.sep in str(globals.get("__file__")):
                raise
            try:
                return import_before(name, globals, locals, fromlist or ("",), 1) if fromlist else \
                    getattr(import_before("", globals, locals, (name.partition(".")[0],), 1), name.partition(".")[0])
            except (ImportError, AttributeError):
                raise error from None

    loader.source_to_code, loader._cache_bytecode, loader.get_code = source_to_code, cache_bytecode, get_code
    builtins.__import__ = sibling_import

    def undo():
        loader.source_to_code, loader._cache_bytecode, loader.get_code = compile_before, cache_before, code_before
        builtins.__import__ = import_before
        TRANSLATED.clear()

    return undo
