"""The command line, as a user meets it: what it prints and its exit status."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import TF1

from graphgrad.golden import load

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = os.path.join(ROOT, "legacy_examples")

SCRIPT = """
import sys
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_nn_ops

@ops.RegisterGradient("MyRelu")
def _my(op, grad):
    return 3.0 * gen_nn_ops.relu_grad(grad, op.outputs[0])

x = tf.placeholder(tf.float32, [2])
with tf.get_default_graph().gradient_override_map({"Relu": "MyRelu"}):
    y = tf.nn.relu(x)
with tf.Session() as sess:
    print("argv", sys.argv[1:], __name__)
    print(sess.run(tf.gradients(y, x)[0], {x: [-1.0, 2.0]}))
    y.eval({x: [1.0, float(sys.argv[1]) if len(sys.argv) > 1 else 1.0]})
"""


def graphgrad(*arguments, **more):
    environment = dict(os.environ, PYTHONPATH=ROOT)
    return subprocess.run([sys.executable, "-m", "graphgrad"] + list(arguments), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, env=environment, **more)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def test_run_an_unmodified_script(script):
    """Its output, its arguments, and what its overrides did; TensorFlow's start-up noise is not there."""
    done = graphgrad("run", script, "1.5", "--flag")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["argv ['1.5', '--flag'] __main__", "[0. 3.]"]
    assert done.stderr.splitlines()[-1] == "graphgrad: Relu -> MyRelu: 1 ops tagged, the gradient went through 1"
    if not TF1:
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_record_and_compare(script, tmp_path):
    """Recorded, compared with itself: same; with another argument: the difference and exit status 1."""
    old = str(tmp_path / "old.npz")
    assert graphgrad("record", script, "-o", old).returncode == 0
    recording = load(old)
    assert [len(run["fetches"]) for run in recording.runs] == [1, 1]
    assert recording.array("run0000/000").tolist() == [0.0, 3.0]
    assert recording.meta["overrides"] == [{"op_type": "Relu", "tag": "MyRelu", "tagged": 1, "differentiated": 1}]
    assert recording.meta["script"] == "script.py" and recording.meta["complete"]
    done = graphgrad("compare", script, old)
    assert (done.returncode, "script.py: same: " in done.stdout) == (0, True)
    new = str(tmp_path / "new.npz")
    assert graphgrad("record", "-o", new, script, "7.0").returncode == 0
    done = graphgrad("compare", new, old)
    assert done.returncode == 2 and "was given the arguments 7.0 now and (none) then" in done.stderr
    done = graphgrad("compare", "--any-arguments", new, old)
    assert done.returncode == 1
    assert "differs, first at run 1: the inputs that were fed differ" in done.stdout


def test_a_script_that_dies_leaves_a_recording_that_says_so(tmp_path):
    """What it computed until then is kept, and it is never "same"."""
    path = tmp_path / "dies.py"
    path.write_text("import tensorflow as tf\nwith tf.Session() as s:\n    s.run(tf.constant(1.0))\nraise KeyError('gone')\n")
    output = str(tmp_path / "dies.npz")
    done = graphgrad("record", str(path), "-o", output)
    assert done.returncode == 2 and "died after 1 runs (KeyError: 'gone')" in done.stderr
    recording = load(output)
    assert (len(recording.runs), recording.meta["complete"], recording.meta["error"]) == (1, False, "KeyError: 'gone'")
    assert graphgrad("compare", output, output).returncode == 1


def test_exit_status_of_the_script_is_kept(tmp_path):
    """sys.exit(3) is 3, as with plain python."""
    path = tmp_path / "exits.py"
    path.write_text("import sys\nsys.exit(3)\n")
    assert graphgrad("run", str(path)).returncode == 3


@pytest.mark.parametrize("content, text", [
    (None, "There is no script"), ("", "is empty"), ("this is no Python\n", "is not a Python 3 script"), ("folder", "is a folder")])
@pytest.mark.parametrize("verb", ["run", "record"])
def test_what_is_no_script(tmp_path, content, text, verb):
    """One sentence, exit status 2, no traceback, nothing written."""
    path = tmp_path / "thing.py"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    output = str(tmp_path / "out.npz")
    done = graphgrad(*(["run", str(path)] if verb == "run" else ["record", "-o", output, str(path)]))
    assert done.returncode == 2 and text in done.stderr and len(done.stderr.splitlines()) == 1
    assert not os.path.exists(output)


@pytest.mark.parametrize("arguments, text", [
    (["compare", "none.npz", "none.npz"], "There is no result file none.npz"),
    (["compare", "none.py"], "needs an old recording"), (["rules", "nothing"], "there is no rule 'nothing'; there are guided"),
    (["record", "none.py"], "say where to write"), (["record", "x.py", "-o", "no/such/folder.npz"], "There is no script x.py"),
])
def test_usage_errors(arguments, text, tmp_path):
    """One sentence, exit status 2."""
    done = graphgrad(*arguments, cwd=str(tmp_path))
    assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [
    ["rules"], ["rules", "guided"], ["run", "--help"], ["scan", "--format", "json", EXAMPLES], ["compare", "OUT", "OUT"],
    ["run", "SCRIPT"], ["record", "-o", "OUT", "SCRIPT"]], ids=lambda arguments: " ".join(arguments[:2]))
def test_a_reader_that_leaves(arguments, script, tmp_path):
    """``graphgrad rules | head -1``: quiet, with the status of a program that SIGPIPE ended; the diagnosis is said all the same."""
    paths = {"SCRIPT": script, "OUT": str(tmp_path / "out.npz")}
    if arguments[0] == "compare":
        assert graphgrad("record", "-o", paths["OUT"], script).returncode == 0
    read, write = os.pipe()
    os.close(read)
    environment = dict(os.environ, PYTHONPATH=ROOT)
    environment.pop("PYTHONUNBUFFERED", None)   # with it the script's own print raises, and its traceback is shown as by python
    done = subprocess.run([sys.executable, "-m", "graphgrad"] + [paths.get(word, word) for word in arguments], stdout=write,
                          stderr=subprocess.PIPE, universal_newlines=True, env=environment)
    os.close(write)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    assert arguments[0] != "run" or "Relu -> MyRelu: 1 ops tagged" in done.stderr or "--help" in arguments
    assert "OUT" not in arguments or len(load(paths["OUT"]).runs) == 2


def test_a_folder_with_gaps(tmp_path, script):
    """A script that fails, one without an old result, an old result without a script: each is in the table; status 1."""
    folder = tmp_path / "suite"
    (folder / "old_results").mkdir(parents=True)
    shutil.copy(script, str(folder / "good.py"))
    (folder / "bad.py").write_text("raise KeyError('gone')\n")
    (folder / "new.py").write_text("print(1)\n")
    for name in ("good", "bad", "orphan"):
        assert graphgrad("record", script, "-o", str(folder / "old_results" / (name + ".npz"))).returncode == 0
    done = graphgrad("compare", str(folder))
    assert done.returncode == 1
    verdicts = {line.split()[0]: line.rsplit("  ", 1)[1].strip() for line in done.stdout.splitlines()[2:6]}
    assert verdicts == {"good.py": "same", "bad.py": "failed", "new.py": "no old result", "old_results/orphan.npz": "no script"}
    assert "KeyError: 'gone'" in done.stdout and "1 of 4 scripts" in done.stdout


def test_the_main_job(tmp_path):
    """README's first command: every example gives its TF 1.15.5 results, and the digits' maps are written."""
    environment = dict(os.environ, PYTHONPATH=ROOT, TMPDIR=str(tmp_path))
    done = subprocess.run([sys.executable, "-m", "graphgrad", "compare", EXAMPLES], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    number = sum(name.endswith(".py") for name in os.listdir(EXAMPLES))
    assert "{0} of {0} scripts give the same as the old results.".format(number) in done.stdout
    wrote = [line for line in done.stdout.splitlines() if line.startswith("wrote ")]
    assert len(wrote) == 1
    with open(wrote[0][len("wrote "):], "rb") as stream:
        assert stream.read(8) == b"\x89PNG\r\n\x1a\n"


def test_old_results_are_old():
    """Each was recorded on TensorFlow 1.15.5 from the script that is there, whole, with nothing of a machine in it."""
    import hashlib
    folder = os.path.join(EXAMPLES, "old_results")
    originals = [name for name in os.listdir(EXAMPLES) if name.endswith(".py") and not name.endswith("_graphgrad.py")]
    assert len(originals) >= 9
    for name in originals:
        meta = load(os.path.join(folder, name[:-3] + ".npz")).meta
        with open(os.path.join(EXAMPLES, name), "rb") as stream:
            digest = hashlib.sha256(stream.read()).hexdigest()
        assert (meta["tensorflow"], meta["complete"], meta["script_sha256"]) == ("1.15.5", True, digest), name
        assert not any(word.startswith("/") for word in meta["command"])


def test_the_digits_are_read_and_the_model_is_small():
    """The shipped network reads the ten shipped test digits, by its TF 1.15.5 result; all files are under 1 MB."""
    logits = load(os.path.join(EXAMPLES, "old_results", "digits_guided_backprop.npz")).array("run0000/000")
    assert np.argmax(logits, 1).tolist() == list(range(10))
    digits = os.path.join(EXAMPLES, "digits")
    assert sum(os.path.getsize(os.path.join(digits, name)) for name in os.listdir(digits)) < 10 ** 6


def test_what_the_blogs_formulas_are():
    """Seed 001: the plain and the right gradients are the central differences, the blog's are not."""
    sys.path.insert(0, EXAMPLES)
    c, k = np.array([0.05, -0.1]), np.array([0.15, 0.02])

    def loss(c, k):
        a = (np.array([1.0, 2.0]) + c) * (c + k)
        return np.log(np.exp(a).sum()) - a[1]

    eye, h = np.eye(2), 1e-6
    want = [[(loss(c + h * u, k) - loss(c - h * u, k)) / (2 * h) for u in eye],
            [(loss(c, k + h * u) - loss(c, k - h * u)) / (2 * h) for u in eye]]
    recording = load(os.path.join(EXAMPLES, "old_results", "001_add_grad.npz"))
    starts = [number for number, run in enumerate(recording.runs) if len(run["fetches"]) == 2
              and run["fetches"][0]["shape"] == [2] and run["feeds"]]
    plain, blogs, right = [[recording.array("run{:04d}/{:03d}".format(n, i)) for i in range(2)] for n in starts]
    np.testing.assert_allclose(plain, want, rtol=1e-5)
    np.testing.assert_allclose(right, want, rtol=1e-5)
    assert np.abs(np.subtract(blogs, want)).max() > 0.1
