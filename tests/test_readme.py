"""README's blocks run as they are written, in processes of their own."""
import importlib.util
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as stream:
    TEXT = stream.read()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.S)
PRINTED = {0: ["[-1.  1.]"], 1: ["[0. 1.]"]}   # what the comments beside the prints say


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(number):
    """The block runs, and prints what its comments say."""
    code = BLOCKS[number]
    if number < 2:
        # Control flow v2 is on by default in 2.x only.
        code = code.replace("tf.disable_eager_execution()", "tf.disable_eager_execution(); tf.enable_control_flow_v2()")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[:1] == PRINTED.get(number, lines[:1])
    if number == 1:
        assert re.match(r"\['map_while_body_.*: Relu'\]", lines[1])


def test_the_shell_blocks(tmp_path):
    """What they run is right; the two that install run in .ci/run, and what the first one compares in test_cli.py."""
    compare, suite, record, saliency = SHELL
    assert "pip install -q . && .venv/bin/graphgrad compare legacy_examples" in compare
    assert "pip install -q -e \".[test]\" && .venv/bin/python -m pytest -q" in suite
    with open(os.path.join(ROOT, ".ci", "run"), encoding="utf-8") as stream:
        assert "<!-- tests -->" in stream.read()
    import graphgrad
    folder = os.path.dirname(os.path.abspath(graphgrad.__file__))
    script, old = str(tmp_path / "script.py"), str(tmp_path / "old.npz")
    with open(script, "w") as stream:
        stream.write("import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\ntf.Session().run(tf.constant(1.0))\n")
    alone = record.replace("recorder.py", os.path.join(folder, "golden", "recorder.py")).replace("old.npz", old)
    run_shell(alone.replace("SCRIPT [ARGS]", script))
    assert graphgrad.golden.load(old).meta["complete"]
    run_shell(saliency.replace("-o maps", "-o {}".format(tmp_path / "maps")))
    assert "digit_9" in (tmp_path / "maps" / "index.html").read_text()


def run_shell(block):
    """Run the lines of a block with this Python; returns what they print."""
    words = {"python": sys.executable, "graphgrad": sys.executable + " -W ignore -m graphgrad"}
    block = re.sub(r"^(python|graphgrad)\b", lambda found: words[found.group()], block, flags=re.M)
    done = subprocess.run(block, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_what_the_text_names_is_there():
    """Commands, benchmarks and files that are named in the text exist."""
    from graphgrad import cli
    verbs = next(action.choices for action in cli._parser()._actions if action.dest == "verb")
    named = re.findall(r"`graphgrad ([a-z]\w+)", TEXT)
    assert len(named) > 10 and set(named) <= set(verbs)
    for module in re.findall(r"`python -m (tests[\w.]+)`", TEXT):
        assert importlib.util.find_spec(module), module
    paths = re.findall(r"`((?:tests|legacy_examples)/[\w./]*\w)", TEXT)
    assert len(paths) > 5
    for path in paths:
        assert os.path.exists(os.path.join(ROOT, path)), path
