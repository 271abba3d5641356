"""Rules for ReLU and its relatives: which part of the gradient passes a rectifier backwards."""
from .._tf import tf
from ..registry import gradient_rule, original_gradient
from ._kinds import one_input


@gradient_rule("guided")
def guided(op, grad):
    """Guided backprop: the ordinary gradient of the activation, of what is positive in g.

    Forward: that of the op.
    Backward: ``f'(x) * max(g, 0)``; for Relu ``max(g, 0)`` where ``x > 0``, else 0, by two fused kernels.
    Kink: at ``x == 0`` Relu passes nothing. Where g is zero or negative, ``-inf`` too, the gradient is 0.
    Infinities: ``+inf`` and NaN in g behave as in TensorFlow's own gradient, which multiplies: behind a closed
    ReLU they give NaN. (The product of two masks and g gives NaN for ``-inf`` as well.)
    Op types: any with one input: for Relu6, Elu, LeakyRelu and the like it composes with TensorFlow's own
    gradient (the product form, with masks of y and g, passes Relu6 beyond 6, where f' is 0).
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of the composition, as for any TensorFlow operation.
    Source: Springenberg, Dosovitskiy, Brox, Riedmiller 2014, arXiv:1412.6806.
    """
    one_input("guided", op)
    return original_gradient(op, tf.nn.relu(grad))


@gradient_rule("deconvnet")
def deconvnet(op, grad):
    """Deconvnet: what is positive in g passes, whatever the input was.

    Forward: that of the op.
    Backward: ``max(g, 0)``.
    Kink: x does not matter; g == 0 gives 0.
    Infinities: selected, never multiplied. A NaN in g stays NaN.
    Op types: any with one input and an output of the same shape.
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of Relu at g.
    Source: Zeiler, Fergus 2013, arXiv:1311.2901.
    """
    one_input("deconvnet", op)
    return tf.nn.relu(grad)
