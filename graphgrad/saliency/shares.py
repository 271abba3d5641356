"""How relevance goes through products and quotients, where it is known which of their inputs depend on x."""
from .._tf import select, tf
from ..registry import original_gradient
from ..rules._kinds import keep


def shares(op, relevance, varies, epsilon=0.0):
    """The relevance of each input of an operation of two inputs, linear in one or both.

    ``input * back(R / z)``, for one input that depends on x all of it; for two, half each; of a quotient all goes to
    the numerator if that does, for the denominator sets a scale.

    Args:
        op: a product or quotient.
        relevance: R, of its output z.
        varies: for each input, whether it depends on x. The others get None.
        epsilon: stabilises the division by z, with the sign of z; with 0, nothing is shared where z is 0.

    Source: Achtibat et al. 2024 (AttnLRP), arXiv:2402.05602, sections 3.3.2 and 3.3.3.
    """
    z = op.outputs[0]
    size = epsilon * tf.ones_like(z)
    stable = z + select(z >= 0, size, -size) if epsilon else z
    empty = tf.equal(stable, 0)
    share = keep(tf.logical_not(empty), relevance / (stable + tf.cast(empty, z.dtype)))
    gradients = original_gradient(op, share)
    if "Div" in op.type:
        if varies[0]:
            varies = [True, False]
        else:
            gradients = [None, -gradients[1]]     # 1 / x hands its relevance on, as activations do
    return [tensor * gradient / sum(varies) if its else None
            for tensor, gradient, its in zip(op.inputs, gradients, varies)]
