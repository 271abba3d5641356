"""What a run says at its end of what TensorFlow keeps quiet: v2 switched on, missing operations, modes that are gone."""
import pytest
from conftest import TF1

BY_LIBRARY = """\
import tensorflow as tf
try:
    tf.load_op_library("/nowhere/roi.so")
except Exception:
    print("went on")
"""
BY_GRAPH = """\
import tensorflow as tf
graph = tf.GraphDef()
node = graph.node.add()
node.name, node.op = "a", "RoiPoolOfOld"
tf.import_graph_def(graph)
"""


def test_a_library_that_does_not_load(run_in_module_folder):
    """Also where the script goes on without it."""
    done = run_in_module_folder("library.py", BY_LIBRARY)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "could not load '/nowhere/roi.so': the custom operations in it are missing" in done.stderr
    assert "library.py:3: " in done.stderr


def test_a_graph_with_an_operation_that_is_not_there(run_in_module_folder):
    """Its name, and what to do."""
    done = run_in_module_folder("graph.py", BY_GRAPH)
    assert done.returncode == 1
    assert "The operation RoiPoolOfOld is missing" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("switch", ["enable_eager_execution", "enable_v2_behavior"])
def test_a_script_that_turns_v2_on(run_in_module_folder, switch):
    """It gets what it asks for, and the run says what that means for overrides."""
    done = run_in_module_folder(switch + ".py", "import tensorflow as tf\ntf.{}()\nprint(tf.executing_eagerly())\n".format(switch))
    assert done.stdout == "True\n", done.stderr
    assert "{}.py:2: the script turns TensorFlow 2's behaviour on (tf.{})".format(switch, switch) in done.stderr


@pytest.mark.skipif(TF1, reason="TF 1.15 has them")
def test_modes_are_never_simply_unequal(run_in_module_folder):
    """mode == tf.estimator.ModeKeys.TRAIN is an answer or an error; contrib.learn's words are there."""
    import tensorflow as tf
    source = ("import tensorflow as tf\nprint(tf.contrib.learn.ModeKeys.TRAIN)\n"
              "print('train' == tf.estimator.ModeKeys.TRAIN)\n")
    done = run_in_module_folder("modes.py", source)
    if tf.__version__ < "2.16":
        assert done.stdout == "train\nTrue\n", done.stderr
    else:
        assert (done.returncode, done.stdout) == (1, "train\n")
        assert "tensorflow.estimator.ModeKeys.TRAIN is gone since TF 2.16: install tensorflow 2.15" in done.stderr
