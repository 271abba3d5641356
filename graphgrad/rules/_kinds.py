"""What rules check when they are put on an operation, and their parameters when they are made."""
import math

from ..errors import GradientError


def one_input(rule, op):
    """Raise GradientError unless the operation has one input and one output, as the formula of ``rule`` supposes."""
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        raise GradientError(
            "The rule {} is for operations with one input and one output; operation {!r} of type {} has {} and "
            "{}.".format(rule, op.name, op.type, len(op.inputs), len(op.outputs)))
    return op.inputs[0]


def number(rule, name, value, positive=False):
    """Return a parameter as a float; ValueError unless it is a finite number (not below zero, if ``positive``)."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError("{}: {} must be a number, but got {!r}.".format(rule, name, value)) from None
    if not math.isfinite(value) or (positive and value < 0):
        raise ValueError("{}: {} must be a finite number{}, but got {!r}.".format(
            rule, name, " not below zero" if positive else "", value))
    return value
