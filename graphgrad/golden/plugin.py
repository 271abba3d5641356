"""The pytest plugin: the fixture ``golden``, the options --golden-update and --golden-update-new, unused files."""
import os

import pytest

from ..errors import UsageError
from .files import OBTAINED, check, place


def pytest_addoption(parser):
    """Add the two options."""
    group = parser.getgroup("graphgrad")
    group.addoption("--golden-update", action="store_true", help=(
        "accept what differs from its golden file, and new files"))
    group.addoption("--golden-update-new", action="store_true", help="accept what has no golden file yet")


def pytest_configure(config):
    """Start to keep account of files."""
    config.graphgrad_golden = _Files()


class _Files:
    """Which golden files were used, by which test, and which test modules ran."""

    def __init__(self):
        self.users = {}
        self.modules = {}
        self.partial = False


class Golden:
    """What the fixture gives: ``golden.check(name, tensors)``."""

    def __init__(self, request, files):
        self._module = str(request.node.fspath)
        self._test = request.node.nodeid
        self._files = files
        option = request.config.getoption
        self._update = "all" if option("golden_update") else "new" if option("golden_update_new") else ""

    def check(self, name, tensors, tolerances=None):
        """Assert that tensors are those of golden/MODULE/NAME.npz beside the test's module.

        Args:
            name: str, of the golden file; each test of a module has its own.
            tensors: an array, tensor or None, or a list or dict of them; tensors are run in the default session.
            tolerances: {name, pattern or dtype: (relative, normwise)}, kept in the file.

        Raises:
            AssertionError: they differ, or there was no file: then it is written.
            UsageError: the name is no file name, or another test has used it.
        """
        __tracebackhide__ = True
        path = place(self._module, name)
        user = self._files.users.setdefault(path, self._test)
        if user != self._test:
            raise UsageError("The golden name {!r} is that of {}: give this test another.".format(name, user))
        check(path, tensors, self._update, tolerances)


@pytest.fixture
def golden(request):
    """Compares with golden files: ``golden.check("saliency", {"grad": gradient})``."""
    return Golden(request, request.config.graphgrad_golden)


def pytest_collection_modifyitems(config, items):
    """Note which modules run."""
    files = config.graphgrad_golden
    files.partial = any("::" in str(argument) for argument in config.args)
    files.modules = {item.nodeid.split("::")[0]: str(item.fspath) for item in items
                     if "golden" in getattr(item, "fixturenames", ())}


def pytest_deselected(items):
    """Note that not all tests run."""
    if items:
        items[0].config.graphgrad_golden.partial = True


def pytest_terminal_summary(terminalreporter, config):
    """Say which golden files no test has used, of the modules of which every test came to its end."""
    files = config.graphgrad_golden
    # Workers of pytest-xdist each see a part: nobody knows what is unused.
    if files.partial or config.getoption("numprocesses", None):
        return
    stopped = {one.nodeid.split("::")[0] for outcome in ("failed", "error", "skipped")
               for one in terminalreporter.stats.get(outcome, ())}
    unused = []
    for module, path in sorted(files.modules.items()):
        folder = os.path.dirname(place(path, "any"))
        if module not in stopped and os.path.isdir(folder):
            unused += [path for path in (os.path.join(folder, name) for name in sorted(os.listdir(folder)))
                       if path.endswith(".npz") and not path.endswith(OBTAINED) and path not in files.users]
    if unused:
        terminalreporter.section("golden files that no test has used")
        for path in unused:
            terminalreporter.line(os.path.relpath(path))
