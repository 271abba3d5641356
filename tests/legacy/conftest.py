"""Scripts run in processes of their own: what activate() turns off in TensorFlow stays off."""
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")


def python(*arguments, **more):
    """Run python with graphgrad on its path; returns the finished process."""
    environment = dict(os.environ, PYTHONPATH=ROOT, **more.pop("environment", {}))
    return subprocess.run([sys.executable] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, env=environment, **more)


def graphgrad(*arguments, **more):
    """Run the command line."""
    return python("-m", "graphgrad", *arguments, **more)


@pytest.fixture(scope="module")
def run_in_module_folder(tmp_path_factory):
    """Write a script and run it: fn(name, source, *arguments) -> process."""
    folder = tmp_path_factory.mktemp("scripts")

    def run(name, source, *arguments, **more):
        path = folder / name
        path.write_text(source)
        return graphgrad("run", *(list(more.pop("options", ())) + [str(path)] + list(arguments)), cwd=str(folder), **more)

    run.folder = folder
    return run
