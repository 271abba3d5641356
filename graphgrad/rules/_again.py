"""The same operation once more, on other inputs: what relevance rules evaluate beside the original."""
from .._tf import tf


def again(op, inputs):
    """Build an operation of the type and attributes of ``op`` on other inputs; returns the new ``tf.Operation``."""
    attributes = {}
    inferred = set()
    for argument in op.op_def.input_arg:
        inferred.update((argument.type_attr, argument.number_attr, argument.type_list_attr))
    for attribute in op.op_def.attr:
        if attribute.name not in inferred:
            attributes[attribute.name] = op.get_attr(attribute.name)
    named = dict(zip([argument.name for argument in op.op_def.input_arg], inputs))
    output = getattr(tf.raw_ops, op.type)(**dict(attributes, **named))
    return (output[0] if isinstance(output, (list, tuple)) else output).op
