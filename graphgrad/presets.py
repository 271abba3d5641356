"""Rules put on whole families of op types, ready to enter."""
from .overrides import override_gradients
from .rules import deconvnet as _deconvnet
from .rules import guided as _guided
from .rules import straight_through as _straight_through

#: Activations with one input whose own gradient TensorFlow has. A swish is Sigmoid and Mul inside a
#: tf.custom_gradient, and Maximum(x, 0) has two inputs: the report names them where they are, this does not cover them.
RECTIFIERS = ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign")
#: Steps, with a gradient of zero or none.
STEPS = ("Sign", "Round", "Rint", "Floor", "Ceil")


def guided_backprop(strict=False):
    """Guided backprop on every rectifier: an Override of Relu, Relu6, LeakyRelu, Elu, Selu, Softplus, Softsign.

    Each composes with TensorFlow's own gradient (``rules.guided``). It is enough that one of the types is there.
    """
    return override_gradients({op_type: _guided for op_type in RECTIFIERS}, strict=strict, require="any")


def deconvnet(strict=False):
    """Deconvnet on every rectifier: an Override of the types of ``guided_backprop`` with ``rules.deconvnet``."""
    return override_gradients({op_type: _deconvnet for op_type in RECTIFIERS}, strict=strict, require="any")


def straight_through(*op_types, strict=False):
    """Straight-through on the given op types: an Override with ``rules.straight_through``.

    Args:
        *op_types: such as "Sign"; each must then match an operation. Without any: Sign, Round, Rint, Floor and
            Ceil, of which one is enough.
        strict: as of override_gradients.
    """
    return override_gradients({op_type: _straight_through for op_type in op_types or STEPS}, strict=strict,
                              require="each" if op_types else "any")
