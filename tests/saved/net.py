"""The module of gradient functions that make.py and whoever loads its graphs import."""
import graphgrad as gg


@gg.register_gradient
def five(op, grad):
    return 5.0 * grad


@gg.register_gradient("Six")
def six(op, grad):
    assert len(op.inputs) == len(op.outputs) == 1
    return 6.0 * grad
