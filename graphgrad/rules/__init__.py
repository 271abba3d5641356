"""The rule library: gradient functions ``rule(op, grad)``, one family a file, each with its formula and source.

``x`` is the input, ``y`` the output, ``g`` the incoming gradient; a formula gives the gradient to ``x``. Rules
with parameters are made by a function: ``reverse(0.3)`` is a rule, ``guided`` is one already. Unless they say
otherwise they work on float16, bfloat16, float32 and float64, on any rank and with unknown batch size. A rule
that is the derivative of another function than the op's has that function as its attribute ``surrogate``.

A parameter that is no number, or out of range, is a ValueError when the rule is made, and what should be a function
and is none a TypeError; a rule on an operation that it is not made for is a GradientError that names both, when the
gradient is built.

Saved graphs find a rule without parameters again in any process that imports graphgrad. One with parameters is
registered under the name that it is tagged with, before gradients are built:
``register_gradient("graphgrad.reverse(factor=0.3)")(reverse(0.3))``.
"""
from .flow import bpda, clip_by_norm, clip_by_value, lower_bound, reverse, scale, stop, substitute, upper_bound
from .lrp import (
    excitation_backprop,
    lrp_alpha_beta,
    lrp_epsilon,
    lrp_flat,
    lrp_gamma,
    lrp_w_square,
    lrp_z,
    lrp_z_box,
    lrp_z_plus,
)
from .pooling import prr, smoothed_max_pool, smoothed_max_pool_l2
from .quantize import dorefa_gradients, straight_through_interval
from .relevance import (
    deeplift_max_pool,
    deeplift_rescale,
    deeplift_softmax,
    deeplift_softmax_centred,
    deeplift_two_inputs,
    lrp_epsilon_gradient,
)
from .relu import (
    beta_smooth,
    deconvnet,
    guided,
    guided_after,
    guided_input_mask,
    guided_output_mask,
    guided_select,
    rectgrad,
    rectgrad_constant,
    rectgrad_padding,
    redirected,
    spike,
    zero,
)
from .sign import (
    approx_sign,
    magnitude_aware,
    straight_through,
    straight_through_clipped_gradient,
    straight_through_clipped_input,
    swish_sign,
    tanh_surrogate,
    ttq,
    xnor,
)

__all__ = [
    # relu.py
    "guided", "guided_after", "guided_select", "guided_input_mask", "guided_output_mask", "deconvnet", "redirected",
    "zero", "rectgrad", "rectgrad_constant", "rectgrad_padding", "beta_smooth", "spike",
    # sign.py
    "straight_through", "straight_through_clipped_input", "straight_through_clipped_gradient", "approx_sign",
    "swish_sign", "tanh_surrogate", "magnitude_aware", "xnor", "ttq",
    # quantize.py
    "straight_through_interval", "dorefa_gradients",
    # flow.py
    "reverse", "scale", "clip_by_value", "clip_by_norm", "stop", "lower_bound", "upper_bound", "substitute", "bpda",
    # pooling.py
    "smoothed_max_pool", "smoothed_max_pool_l2", "prr",
    # lrp.py
    "lrp_z", "lrp_epsilon", "lrp_flat", "lrp_w_square", "lrp_alpha_beta", "lrp_z_plus", "excitation_backprop",
    "lrp_z_box", "lrp_gamma",
    # relevance.py
    "lrp_epsilon_gradient", "deeplift_rescale", "deeplift_two_inputs", "deeplift_max_pool", "deeplift_softmax",
    "deeplift_softmax_centred",
]
