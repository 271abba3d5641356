"""README's Python blocks run as they are written, in processes of their own."""
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as stream:
    BLOCKS = re.findall(r"```python\n(.*?)```", stream.read(), re.S)
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
