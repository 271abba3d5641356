"""Mutation testing of the core: change one thing in a module, and see whether a test notices.

    python -m tests.trust.mutants [MODULE ...] [--sample N] [--seed S] [--jobs N] [--matching TEXT]

Run by hand, on Python 3.12 or later. MODULE is such as ``registry`` or ``golden/compare``; by default all of ``TESTS``.
A mutant negates a condition, swaps an operator, moves a number, empties a return, or takes out a statement, a
``finally`` or a ``with``; the wording of messages is left alone. Nothing in this tree is written: mutants live in a copy
in a temporary folder.

First the tests of the modules run once, in a fork, and it is noted which lines each of them reaches. Then each mutant gets a
fork of this process, which has imported TensorFlow, and the tests that reach the changed statement, the fastest
of the module's own file first, until one fails. One that fails, does not import or takes too long kills the mutant.
Nothing is counted of what tests reach in processes that they start.

Why not mutmut (3.8): it forks a process that has run the tests before, and with them Sessions, whose threads a fork does not
have: the first test that runs one waits until it is killed (of contract.py's 253 mutants, after 54). And it leaves
decorated functions out, override_existing among them. cosmic-ray (8.7) starts pytest anew for each mutant: 3 s of
processor time to import TensorFlow, before its first test.
"""
import argparse
import ast
import collections
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

#: The tests of each module, its own file first.
TESTS = {
    "registry": ["registry", "overrides", "existing", "functions", "saved", "trust/test_concurrency"],
    "contract": ["overrides", "functions", "registry"],
    "overrides": ["overrides", "existing", "called", "presets", "trust/test_concurrency", "trust/test_faults"],
    "blocks": ["overrides", "reach", "tapes", "trust/test_concurrency", "trust/test_faults"],
    "existing": ["existing", "reach", "trust/test_concurrency"],
    "called": ["called", "overrides", "keras"],
    "functions": ["functions", "reach", "trust/test_concurrency"],
    "checks": ["checks"],
    "whole": ["whole", "golden/test_files"],
    "graph_defs": ["trust/test_hostile"],
    "golden/compare": ["golden/test_compare", "golden/test_explain"],
    "golden/tolerances": ["golden/test_compare"],
    "golden/values": ["golden/test_compare", "golden/test_explain"],
}

#: Mutants that nobody could tell from the original, and why. The rest of a line is as the report of survivors has it.
EQUIVALENT = {
    "golden/values  constant: 1": "the size of a block is of no account for the result",
    "golden/values  constant: 17": "the same",
    "registry GradientRegistry._enter constant: True": "it is looked for, not at",
    "blocks Block._see taken out: self.seen += 1": "a block that saw all then looks for what it did not see, and finds nothing",
    "checks check_gradient constant: 0": "any seed does",
    "checks _culprits constant: False": "an operation that is off shows along one direction already",
    "checks _refuse_bodies IsNot: body.graph is None": "TF 1.15 alone has such bodies, and its tests notice",
    "checks _refuse_serialized taken out: _refuse('{!r} (type {}{})'.format(name, kind, "
    "', gradient {}'.format(tag) if tag else ''))": "the same",
    "whole _mask constant: 0": "it is set back at once",
    "existing _Selection.add_graph constant: 1": "it is only asked which is the most common",
    "blocks Block constant: True": "it is looked for, not at",
    "functions  constant: 12": "any length sets processes apart",
    "functions _python_operation constant: 12": "the same",
}

_FLIPPED = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
            ast.NotIn: ast.In, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitOr: ast.BitAnd,
            ast.BitAnd: ast.BitOr}


class Mutant:
    """One change: ``new`` in the place of ``old`` in a syntax tree.

    Attributes:
        name: "MODULE FUNCTION CHANGE: the old text", without a line, so that it stays.
        line: of the old text.
        lines: of the statement; a test that reaches none of them cannot notice.
        at_import: whether importing the module reaches them: all tests may notice.
    """

    def __init__(self, name, old, new, put, statement, at_import):
        self.name, self.line, self.at_import, self.old, self.new, self._put = name, old.lineno, at_import, old, new, put
        body = getattr(statement, "body", None)   # of a compound statement the head, and the way into it
        self.lines = range(statement.lineno, (body[0].lineno if body else statement.end_lineno) + 1)

    def source(self, tree):
        """The source of the whole module with the change."""
        self._put(self.new)
        try:
            return ast.unparse(ast.fix_missing_locations(tree))
        finally:
            self._put(self.old)


def mutants_of(module, tree):
    """Every Mutant of a module."""
    found = []

    def visit(node, put, function, statement, at_import):
        if isinstance(node, ast.stmt):
            at_import = at_import and not isinstance(statement, ast.FunctionDef)
            statement = node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if node.name in ("__repr__", "__str__"):
                return
            function = "{}.{}".format(function, node.name).lstrip(".")
        for change, new in _changes(node):
            text = ast.unparse(node).split("\n")[0][:90]
            found.append(Mutant("{} {} {}: {}".format(module, function, change, text), node, new, put, statement, at_import))
        if isinstance(node, ast.Raise) or isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "format":
            return   # wording
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            if isinstance(value, ast.AST):
                visit(value, lambda new, field=field: setattr(node, field, new), function, statement, at_import)
            elif isinstance(value, list):
                for place, part in enumerate(value):
                    if isinstance(part, ast.AST):
                        visit(part, lambda new, value=value, place=place: value.__setitem__(place, new), function,
                              statement, at_import)

    visit(tree, None, "", None, True)
    return found


def _changes(node):
    """Yield (what is changed, the node that takes the place of this one)."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            ops = list(node.ops)
            ops[place] = _FLIPPED[type(operator)]()
            yield type(ops[place]).__name__, ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "without not", node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        yield "operator", ast.BinOp(node.left, _SWAPPED[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not _is_flipped_anyway(node.test):
        values = dict(ast.iter_fields(node), test=ast.UnaryOp(ast.Not(), node.test))
        yield "negated", type(node)(**values)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not isinstance(node.value, ast.Constant):
            yield "return None", ast.Return(ast.Constant(None))
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
          or isinstance(node, ast.Assign) and not isinstance(node.targets[0], (ast.Name, ast.Tuple))
          or isinstance(node, (ast.AugAssign, ast.Delete, ast.Raise, ast.Continue, ast.Break))):
        yield "taken out", ast.Pass()
    elif isinstance(node, ast.Try) and node.finalbody:
        yield "without finally", (ast.Try(node.body, node.handlers, node.orelse, []) if node.handlers
                                  else ast.If(ast.Constant(True), node.body, []))
    elif isinstance(node, ast.With) and not any(item.optional_vars for item in node.items):
        yield "without with", ast.If(ast.Constant(True), node.body, [])


def _is_flipped_anyway(test):
    """Whether another change of the condition is its negation."""
    return (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
            or isinstance(test, ast.Compare) and len(test.ops) == 1 and not isinstance(test.ops[0], _ORDER))


# --- Running the tests ------------------------------------------------------------------------------------

class _Noting:
    """A pytest plugin: for each test the seconds it took and the (file, line) pairs that it reached of some files."""

    def __init__(self, files):
        import pytest
        self.tests, self._reached = {}, set()
        monitoring = sys.monitoring
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutants")

        def line(code, number):
            if code.co_filename in files:
                self._reached.add((code.co_filename, number))
            return monitoring.DISABLE

        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, line)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)

        @pytest.hookimpl(wrapper=True)
        def protocol(item):
            self._reached.clear()
            monitoring.restart_events()
            start = time.time()
            result = yield
            self.tests[item.nodeid] = time.time() - start, frozenset(self._reached)
            return result

        self.pytest_runtest_protocol = protocol


class _Chosen:
    """A pytest plugin: run some tests only, in their order."""

    def __init__(self, names):
        self.names = names

    def pytest_collection_modifyitems(self, items):
        """Choose them."""
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self.names]


def _fork(folder, work):
    """Do some work in a fork with a folder's copy of the package; returns the process."""
    process = os.fork()
    if process == 0:
        status = 70
        try:
            os.setpgrp()
            os.chdir(folder)
            os.environ["PYTHONPATH"] = folder
            sys.path.insert(0, folder)
            output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            status = int(work())
        finally:
            os._exit(status)
    return process


def _pytest(arguments, plugin):
    import pytest
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments], plugins=[plugin] if plugin else [])


@contextlib.contextmanager
def _written(path, text):
    """A file that says something else."""
    with open(path) as stream:
        was = stream.read()
    try:
        with open(path, "w") as stream:
            stream.write(text)
        yield
    finally:
        with open(path, "w") as stream:
            stream.write(was)


def _note(folder, trees):
    """Run the tests of some modules as they are; {test: (seconds, {(module, line)})}."""
    modules = sorted(trees)
    files = sorted(set(_file(test) for module in modules for test in TESTS[module]))
    paths = [os.path.join(folder, "graphgrad", module + ".py") for module in modules]
    noted = os.path.join(folder, "noted")

    def work():
        noting = _Noting(paths)
        status = _pytest(files, noting)
        with open(noted, "w") as stream:
            stream.write(repr({name: (seconds, sorted((paths.index(path), line) for path, line in reached))
                               for name, (seconds, reached) in noting.tests.items()}))
        return status

    def check(process):
        if os.waitpid(process, 0)[1]:
            with open(os.path.join(folder, "output")) as stream:
                sys.exit("The tests fail without any mutant:\n" + stream.read()[-5000:])

    check(_fork(folder, work))
    with contextlib.ExitStack() as written:   # a mutant has no comments and other line numbers: no test may notice that
        for module, path in zip(modules, paths):
            written.enter_context(_written(path, ast.unparse(trees[module])))
        check(_fork(folder, lambda: _pytest(files, None)))
    with open(noted) as stream:
        return {name: (seconds, set((modules[place], line) for place, line in reached))
                for name, (seconds, reached) in ast.literal_eval(stream.read()).items()}


def _file(test):
    return "tests/{}.py".format(test if "/" in test else "test_" + test)


def _tests_for(mutant, module, noted):
    """[(file, [test])] that can notice a mutant, and how long they take."""
    groups, seconds = [], 0.0
    reach = {name for name, (_, reached) in noted.items() if any((module, line) in reached for line in mutant.lines)}
    if mutant.at_import or not reach:   # what runs before the tests, or in a copy that autograph makes, is not seen
        reach = set(noted)
    for test in TESTS[module]:
        names = sorted((noted[name][0], name) for name in reach if name.startswith(_file(test) + "::"))
        if names:
            groups.append((_file(test), [name for _, name in names]))
            seconds += sum(took for took, _ in names)
    return groups, seconds


@contextlib.contextmanager
def _copies(number):
    """Copies of this tree in temporary folders."""
    with tempfile.TemporaryDirectory() as top:
        folders = [os.path.join(os.path.realpath(top), str(i)) for i in range(number)]
        for folder in folders:
            shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*", "venv*", "__pycache__"))
        yield folders


def _run(todo, noted, folders):
    """Yield (module, mutant, whether it was killed) as they are done, as many at a time as there are folders."""
    waiting, free, running = collections.deque(todo), list(folders), {}
    try:
        while waiting or running:
            while waiting and free:
                module, mutant, source = waiting.popleft()
                folder = free.pop()
                written = _written(os.path.join(folder, "graphgrad", module + ".py"), source)
                written.__enter__()
                groups, seconds = _tests_for(mutant, module, noted)

                def work(groups=groups):
                    sys.dont_write_bytecode = True
                    return next(filter(None, (_pytest(["--tb=no", file], _Chosen(names)) for file, names in groups)), 0)

                process = _fork(folder, work)
                running[process] = module, mutant, folder, written, time.time() + 60 + 10 * seconds
            time.sleep(0.05)
            for process, (module, mutant, folder, written, limit) in list(running.items()):
                done, status = os.waitpid(process, os.WNOHANG)
                if done or time.time() > limit:
                    del running[process]
                    if not done:
                        status = _end(process)
                    written.__exit__(None, None, None)
                    free.append(folder)
                    yield module, mutant, status != 0
    finally:
        for process in running:
            _end(process)


def _end(process):
    """Kill a fork and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def main(arguments=None):
    """Print the survivors and the score of each module."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.mutants", description=__doc__.split("\n")[0])
    parser.add_argument("modules", metavar="MODULE", nargs="*", default=sorted(TESTS))
    parser.add_argument("--sample", type=int, help="this many mutants of each module, instead of all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--matching", action="append", help="only mutants with this in their line of the report")
    chosen = parser.parse_args(arguments)
    trees, todo, sites, equivalent = {}, [], {}, {}
    for module in chosen.modules:
        with open(os.path.join(ROOT, "graphgrad", module + ".py")) as stream:
            trees[module] = ast.parse(stream.read())
        mutants = mutants_of(module, trees[module])
        sites[module] = len(mutants)
        unknown = [name for name in EQUIVALENT if name.split()[0] == module and name not in {m.name for m in mutants}]
        if unknown:
            sys.exit("No such mutant, so not equivalent: {}".format("; ".join(unknown)))
        real = [mutant for mutant in mutants if mutant.name not in EQUIVALENT]
        equivalent[module] = len(mutants) - len(real)
        if chosen.matching:
            real = [mutant for mutant in real if any(text in mutant.name for text in chosen.matching)]
        if chosen.sample is not None:
            real = random.Random(chosen.seed).sample(real, min(chosen.sample, len(real)))
        todo += [(module, mutant, mutant.source(trees[module])) for mutant in real]
    import tensorflow
    _ = tensorflow.keras.layers   # imported at its first use

    killed, run = collections.Counter(), collections.Counter()
    with _copies(chosen.jobs) as folders:
        noted = _note(folders[0], trees)
        print("{} tests, {:.0f} s; {} mutants".format(len(noted), sum(took for took, _ in noted.values()), len(todo)))
        try:
            for module, mutant, dead in _run(todo, noted, folders):
                run[module] += 1
                killed[module] += dead
                if not dead:
                    print("survived: {} {}".format(mutant.line, mutant.name), flush=True)
        finally:   # Ctrl-C gives the score so far
            for module in chosen.modules:
                print("{}: {} of {} killed; {} sites, {} of them equivalent".format(
                    module, killed[module], run[module], sites[module], equivalent[module]), flush=True)


if __name__ == "__main__":
    main()
