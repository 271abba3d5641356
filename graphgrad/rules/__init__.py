"""The rule library: gradient functions ``rule(op, grad)``, one family a file, each with its formula and source.

``x`` is the input, ``y`` the output, ``g`` the incoming gradient; a formula gives the gradient to ``x``. Rules
with parameters are made by a function: ``reverse(0.3)`` is a rule, ``guided`` is one already. They work on
float16, bfloat16, float32 and float64, on any rank and with unknown batch size.
"""
from .flow import clip_by_norm, clip_by_value, reverse, scale, stop
from .relu import deconvnet, guided
from .sign import straight_through, straight_through_clipped_gradient, straight_through_clipped_input

__all__ = [
    # relu.py
    "guided", "deconvnet",
    # sign.py
    "straight_through", "straight_through_clipped_input", "straight_through_clipped_gradient",
    # flow.py
    "reverse", "scale", "clip_by_value", "clip_by_norm", "stop",
]
