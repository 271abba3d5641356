"""Op types as keys of an override map: which exist, what TensorFlow calls them today, what was meant."""
import difflib

from . import _tf
from .errors import OverrideError
from .renamed import RENAMED


def check_op_type(key):
    """Raise OverrideError unless ``key`` is an op type of this TensorFlow; the message has close matches."""
    if not isinstance(key, str):
        raise OverrideError("A key of an override must be an op type such as 'Relu', but got {!r}.".format(key))
    if _tf.is_op_type(key):
        if key in ("PartitionedCall", "StatefulPartitionedCall") and not _tf.BODIES_KEEP_OPERATIONS:
            raise OverrideError(
                "TensorFlow {} gives each call of a function that function's own gradient and asks for no other, so "
                "{!r} cannot be overridden there.".format(_tf.tf.__version__, key))
        return
    text = "{!r} is not an operation type of TensorFlow {}.".format(key, _tf.tf.__version__)
    close = close_op_types(key)
    if close:
        text += " Did you mean {}?".format(" or ".join(close))
    raise OverrideError(text)


def close_op_types(name):
    """Up to three op types spelt like ``name``, differences of case first."""
    types = _tf.op_types()
    same = [t for t in types if t.lower() == name.lower().replace("_", "")]
    near = difflib.get_close_matches(name, types, n=3)
    return (same + [t for t in near if t not in same])[:3]


def relatives(key, present):
    """Those of the op types ``present`` that ``key`` may have meant: renamed in some version, or spelt alike."""
    related = set()
    for row in RENAMED:
        if key in row:
            related.update(row)
    return sorted((related | set(difflib.get_close_matches(key, list(present), n=3))) & set(present) - {key})
