"""Every test runs in a graph and a process that know nothing of the others."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")   # TF 1.15's own, while it is imported on a newer numpy or Python
    import tensorflow as _tensorflow

tf = _tensorflow.compat.v1
TF1 = _tensorflow.__version__.startswith("1.")
if TF1:
    # As on TF 2.x: eager outside of graphs, so that the tests of eager mode run on 1.15 too.
    tf.enable_eager_execution()


@pytest.fixture(params=[1, 2], ids=["control_flow_v1", "control_flow_v2"])
def control_flow(request):
    """Both of TensorFlow's ways to build a loop or a branch."""
    was_on = tf.control_flow_v2_enabled()
    (tf.enable_control_flow_v2 if request.param == 2 else tf.disable_control_flow_v2)()
    yield request.param
    (tf.enable_control_flow_v2 if was_on else tf.disable_control_flow_v2)()


@pytest.fixture
def graph():
    """A new graph, entered."""
    new = tf.Graph()
    with new.as_default():
        yield new


@pytest.fixture
def run():
    """Run fetches of the current graph in a Session of their own.

    Of its own, because TensorFlow cannot run a v2 loop's gradient in a session that ran the loop before.
    """
    def run_in_new_session(fetches, feed_dict=None):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(fetches, feed_dict)

    return run_in_new_session
