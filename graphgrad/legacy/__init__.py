"""Old TensorFlow 1 scripts on today's TensorFlow: the runner, the names that went away, the diagnosis, the scan.

Also a pytest plugin, so that an old project's own tests run: ``python -m pytest -p graphgrad.legacy``.
"""
import importlib

_HOME = {
    "activate": "activation", "deactivate": "activation", "run_script": "runner", "run_module": "runner",
    "diagnose": "diagnosis", "scan": "scan",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _HOME:
        value = importlib.import_module("." + _HOME[name], __name__)
        if name != "scan":
            value = getattr(value, name)
        return value
    raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name))


def pytest_load_initial_conftests():
    """Be active before pytest imports a project's conftest."""
    from .activation import activate
    activate()


def pytest_terminal_summary(terminalreporter):
    """Say which old names were supplied."""
    from .catalogue import NOTES, USED
    if USED or NOTES:
        terminalreporter.section("graphgrad")
        for entry in USED.values():
            terminalreporter.line("supplied {}".format(entry))
        for text in NOTES:
            terminalreporter.line(text)


def pytest_unconfigure():
    """Leave the process as it was."""
    from .activation import deactivate
    deactivate()
