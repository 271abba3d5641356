"""The wheel: everything of the package and nothing else is in it, and it works from an empty folder."""
import email
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "graphgrad")

pytestmark = pytest.mark.skipif(not os.path.isdir(PACKAGE), reason="there are no sources here to build a wheel of")


def files(folder):
    """The paths below a folder, but for what Python leaves there."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            yield os.path.relpath(os.path.join(place, name), os.path.dirname(folder)).replace(os.sep, "/")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built offline of a copy of the sources: building leaves its traces there."""
    work = tmp_path_factory.mktemp("wheel")
    source = work / "source"
    source.mkdir()
    shutil.copytree(PACKAGE, str(source / "graphgrad"), ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(os.path.join(ROOT, name), str(source))
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                    "--wheel-dir", str(work), str(source)], check=True, stdout=subprocess.DEVNULL)
    (path,) = work.glob("*.whl")
    return path


def test_the_wheel_is_the_package(wheel):
    """Byte for byte every file of graphgrad/, and beside them its metadata alone; runs on any Python 3."""
    assert re.match(r"graphgrad-[\d.]+-py3-none-any\.whl$", wheel.name)
    with zipfile.ZipFile(str(wheel)) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert sorted(names) == sorted(files(PACKAGE))
        for name in names:
            with open(os.path.join(ROOT, name), "rb") as stream:
                assert archive.read(name) == stream.read(), name


def test_what_the_wheel_says_of_itself(wheel):
    """Its requirements, extras, Python, license, command and pytest plugin."""
    import graphgrad
    with zipfile.ZipFile(str(wheel)) as archive:
        texts = {os.path.basename(name): archive.read(name).decode("utf-8") for name in archive.namelist()
                 if ".dist-info/" in name}
    about = email.message_from_string(texts["METADATA"])
    assert (about["Name"], about["Version"]) == ("graphgrad", graphgrad.__version__)
    assert about["License"] == "Apache-2.0" and "Apache License" in texts["LICENSE"]
    assert about["Requires-Python"] == ">=3.7"
    assert about["Description-Content-Type"] == "text/markdown" and "# graphgrad" in texts["METADATA"]
    needs = [re.sub(r"[ ()]", "", one).replace("_", "-") for one in about.get_all("Requires-Dist")]
    assert [one for one in needs if "extra==" not in one] == ["tensorflow>=1.15", "numpy"]
    extras = [(re.search(r"extra==.(\w+)", one).group(1), re.match("[a-z-]+", one).group()) for one in needs if "extra==" in one]
    assert sorted(extras) == [("legacy", "tf-keras"), ("legacy", "tf-slim"), ("test", "hypothesis"), ("test", "pytest"),
                              ("test", "setuptools"), ("test", "wheel")]
    assert [line for line in texts["entry_points.txt"].splitlines() if line] == [
        "[console_scripts]", "graphgrad = graphgrad.cli:main",
        "[pytest11]", "graphgrad.golden.plugin = graphgrad.golden.plugin"]


def test_the_wheel_works_from_an_empty_folder(wheel, tmp_path):
    """Unpacked by pip where there is nothing else: rules are listed, a script runs, is recorded and compared."""
    target = tmp_path / "target"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile",
                    "--target", str(target), str(wheel)], check=True, stdout=subprocess.DEVNULL)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "script.py").write_text(
        "import os, tensorflow as tf\n"
        "from tensorflow.python.framework import ops\n"
        "@ops.RegisterGradient('Guided')\n"
        "def guided(op, grad):\n"
        "    return tf.nn.relu(grad) * tf.cast(op.outputs[0] > 0, tf.float32)\n"
        "x = tf.constant([1.0, -2.0])\n"
        "with tf.get_default_graph().gradient_override_map({'Relu': 'Guided'}):\n"
        "    y = tf.nn.relu(x)\n"
        "print(tf.Session().run(tf.gradients(y, x, grad_ys=-y)[0]))\n"
        "import graphgrad\n"
        "print(os.path.dirname(graphgrad.__file__))\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    environment.update(PYTHONPATH=str(target), TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

    def graphgrad(*arguments):
        return subprocess.run([sys.executable, "-W", "ignore", "-m", "graphgrad"] + list(arguments), cwd=str(elsewhere),
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    rules = graphgrad("rules")
    assert rules.returncode == 0 and "straight_through" in rules.stdout, rules.stderr
    done = graphgrad("record", "script.py", "-o", "old.npz")
    assert done.returncode == 0, done.stderr
    assert str(target / "graphgrad") in done.stdout, "it was imported from somewhere else"
    done = graphgrad("compare", "script.py", "old.npz")
    assert done.returncode == 0 and "same: 1 tensors" in done.stdout, done.stdout + done.stderr
