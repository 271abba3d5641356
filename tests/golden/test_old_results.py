"""The examples' old results are what the one documented command makes, on the TensorFlow that it asks for."""
import os
import subprocess

import pytest
from test_recorder import PYTHONS

from graphgrad.golden import compare, load

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "legacy_examples")
COMMAND = os.path.join(EXAMPLES, "training", "record_old_results.py")


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: os.path.basename(path))
def test_remade(python, tmp_path):
    """On 1.15.5: the same values, bit for bit on the same kind of processor. On another TensorFlow: refused."""
    environment = {name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"}
    done = subprocess.run([python, "-W", "ignore", COMMAND, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, env=environment)
    if done.returncode != 0:
        assert "; old results are made on 1.15.5." in done.stderr, done.stderr
        version = done.stderr.split("This is TensorFlow ")[1].split(";")[0]
        assert version != "1.15.5" and os.listdir(str(tmp_path)) == []
        return
    names = sorted(os.listdir(os.path.join(EXAMPLES, "old_results")))
    old_spellings = sorted(name[:-3] + ".npz" for name in os.listdir(EXAMPLES)
                           if name.endswith(".py") and not name.endswith("_graphgrad.py"))
    assert sorted(os.listdir(str(tmp_path))) == names == old_spellings
    for name in names:
        with load(str(tmp_path / name)) as new, load(os.path.join(EXAMPLES, "old_results", name)) as old:
            result = compare(new, old)
            assert result.same and result.compared, (name, [str(difference) for difference in result.differences])
            if new.meta["cpu_flags"] == old.meta["cpu_flags"]:
                assert result.worst == 0, name
            assert [one["tagged"] for one in new.meta["overrides"]] == [one["tagged"] for one in old.meta["overrides"]]
