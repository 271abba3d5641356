"""What a program with types does with graphgrad: passes ``mypy --strict``, and runs."""
from typing import Any, List

import numpy as np
import tensorflow as _tensorflow  # type: ignore

import graphgrad as gg

tf = _tensorflow.compat.v1


@gg.register_gradient("TypedGuidedRelu")
def typed_guided_relu(op: Any, grad: Any) -> List[Any]:
    """A gradient of one's own, composed with TensorFlow's."""
    return gg.original_gradient(op, tf.nn.relu(grad))


@gg.register_gradient
@gg.declare_surrogate(lambda op, x: x)
def typed_straight_through(op: Any, grad: Any) -> Any:
    """The decorators leave a function's type as it is."""
    return grad


def overrides(session: Any) -> List[str]:
    """The three forms, and the report."""
    x = tf.constant([[1.0, -2.0, 3.0]])
    guided: gg.Override = gg.override_gradients({"Relu": typed_guided_relu, "Elu": "TypedGuidedRelu"}, require="any")
    with guided as same:
        y = tf.nn.relu(x)
    assert same is guided
    gradients = [tf.gradients(y, x)[0], tf.gradients(guided(tf.nn.relu)(x), x)[0]]
    with gg.deconvnet().on(x.graph, where="Relu", between=(x, y)) as deconvnet:
        gradients += tf.gradients(y, x)
    session.run(gradients)
    for entry in guided.report:
        print(entry.key, entry.tagged, entry.missed)
    uncovered = gg.guided_backprop().report.uncovered
    assert not uncovered and deconvnet.report["Relu"].differentiated
    return guided.report["Relu"].differentiated


def functions(session: Any) -> float:
    """Functions with a gradient of their own, ready and home-made."""
    x = tf.constant([[0.5, -2.0]], tf.float64)
    y = gg.py_func_with_grad(np.square, [x], tf.float64, grad=gg.rules.reverse(0.5), output_shapes=lambda shape: shape)
    z = gg.tf_func_with_grad(tf.square, [x], grad=gg.rules.straight_through)
    signs = gg.ops.flip_gradient(gg.ops.sign_ste(x, clip_value=None), 0.3) + gg.ops.skip_gradient(tf.round)(x)
    session.run(tf.gradients(y + z + signs, x))
    result = gg.check_gradient(tf.sign, np.ones([2, 2]), override=gg.straight_through("Sign"))
    return float(result.difference)


def saliency(session: Any) -> Any:
    """A map, of a method and of another made with it."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.nn.relu(x) * 2.0
    images = np.ones([2, 3], np.float32)
    smooth = gg.saliency.smoothgrad(y, x, target="top", samples=2)(session, images, classes=[0, 1])
    for one in gg.saliency.integrated_gradients(y, x, target=1, steps=2).stream(session, images):
        smooth = smooth + one
    return smooth + gg.saliency.guided_backprop(y, x, target=0)(session, images)


def results() -> bool:
    """Old results, and an error caught by its base."""
    gg.assert_matches({"loss": np.float32(0.5)}, {"loss": np.float32(0.5)}, tolerances={"loss": (1e-4, 1e-5)})
    with gg.golden.unrecorded():
        try:
            with gg.golden.load("there is no such file.npz") as recording:
                return gg.golden.compare(recording, recording).same
        except gg.GraphGradError as error:
            return "There is no result file" in str(error)


def main() -> None:
    """Run all of it."""
    with tf.Graph().as_default(), tf.Session() as session:
        assert overrides(session) == ["Relu", "Relu_1"]
        assert functions(session) < 1e-6
        assert saliency(session).shape == (2, 3)
        print(str(gg.diagnose()))
    assert results()


if __name__ == "__main__":
    main()
