"""Calls whose arguments meant something else in TensorFlow 0.x: told apart by their shape, and said.

``tf.concat(1, [a, b])`` and ``tf.split(1, 2, x)`` cannot mean anything else. Positional arguments of the cross
entropies can: 0.x took (logits, labels), 1.0 to 1.15 refused them, 2.x takes (labels, logits) in silence. A script that
ran on its TensorFlow meant 0.x's order, so that is what it gets, with a warning that names both.
"""
import functools
import importlib
import numbers
import sys

from .catalogue import LegacyWarning, note

_CROSS_ENTROPIES = ("softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits",
                    "sigmoid_cross_entropy_with_logits")


def install(tensorflow):
    """Wrap the calls on tf and tf.nn; returns functions that undo it."""
    tf = tensorflow.compat.v1 if not tensorflow.__version__.startswith("1.") else tensorflow
    undo = []
    for owner, name, make in [(tf, "concat", _concat), (tf, "split", _split), (tf, "reverse", _reverse)] + [
            (tf.nn, name, _cross_entropy) for name in _CROSS_ENTROPIES] + [
            (tf, name, _told) for name in ("enable_eager_execution", "enable_v2_behavior")] + [
            (tf, name, _custom_operations) for name in ("load_op_library", "load_library")]:
        if not hasattr(owner, name):
            continue
        original = getattr(owner, name)
        setattr(owner, name, make(original, name))
        undo.append(functools.partial(setattr, owner, name, original))
    return undo


def _place():
    frame = sys._getframe(2)
    while (frame.f_globals.get("__name__") or "").startswith("graphgrad.legacy"):
        frame = frame.f_back
    return "{}:{}".format(frame.f_code.co_filename, frame.f_lineno)


def _is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _concat(original, name):
    @functools.wraps(original)
    def concat(*args, **kwargs):
        if "concat_dim" in kwargs:
            kwargs["axis"] = kwargs.pop("concat_dim")
        if len(args) >= 2 and _is_integer(args[0]) and not _is_integer(args[1]):
            note("{}: tf.concat(axis, values) is 0.x's order of arguments, and was taken so; write "
                 "tf.concat(values, axis).".format(_place()))
            args = (args[1], args[0]) + args[2:]
        return original(*args, **kwargs)

    return concat


def _split(original, name):
    @functools.wraps(original)
    def split(*args, **kwargs):
        if "split_dim" in kwargs:
            kwargs["axis"] = kwargs.pop("split_dim")
        if "num_split" in kwargs:
            kwargs["num_or_size_splits"] = kwargs.pop("num_split")
        if len(args) == 3 and _is_integer(args[0]) and _is_integer(args[1]) and not _is_integer(args[2]):
            note("{}: tf.split(axis, n, value) is 0.x's order of arguments, and was taken so; write "
                 "tf.split(value, n, axis).".format(_place()))
            args = (args[2], args[1], args[0])
        return original(*args, **kwargs)

    return split


def _reverse(original, name):
    @functools.wraps(original)
    def reverse(tensor, axis=None, name=None, dims=None):
        flags = axis if axis is not None else dims
        if isinstance(flags, (list, tuple)) and flags and all(isinstance(flag, bool) for flag in flags):
            note("{}: tf.reverse with a list of booleans is 0.x's, and was taken so; write the axes.".format(_place()))
            flags = [index for index, flag in enumerate(flags) if flag]
        return original(tensor, flags, name=name)

    return reverse


def _cross_entropy(original, name):
    sparse = name.startswith("sparse")

    @functools.wraps(original)
    def cross_entropy(*args, **kwargs):
        kwargs.pop("_sentinel", None)
        if "targets" in kwargs:
            kwargs["labels"] = kwargs.pop("targets")
        if len(args) < 2:
            return original(**dict(kwargs, **({"logits": args[0]} if args else {})))
        first, second = args[:2]
        labels_first = sparse and _is_integral(first) and not _is_integral(second)
        if not labels_first:
            note("{}: {}(x, y) by position means (logits, labels) in TensorFlow 0.x, is an error in 1.0 to 1.15 and "
                 "means (labels, logits) in 2.x; x was taken for the logits. Write labels= and logits=.".format(
                     _place(), name), warn=True)
            first, second = second, first
        for key, value in zip(("dim", "name") if not sparse and "softmax" in name else ("name",), args[2:]):
            kwargs[key] = value
        return original(labels=first, logits=second, **kwargs)

    return cross_entropy


def _told(original, name):
    @functools.wraps(original)
    def switch_on(*args, **kwargs):
        note("{}: the script turns TensorFlow 2's behaviour on (tf.{}): what is built from here on is built as TF 2 "
             "does, and an override of TensorFlow's own spelling does nothing in eager code.".format(_place(), name))
        return original(*args, **kwargs)

    return switch_on


def _custom_operations(original, name):
    @functools.wraps(original)
    def load(library, *args, **kwargs):
        try:
            return original(library, *args, **kwargs)
        except Exception:
            note("{}: tf.{} could not load {!r}: the custom operations in it are missing. A library is built for one "
                 "TensorFlow; build it again from its source, with graphgrad build SOURCE.cc.".format(
                     _place(), name, library))
            raise

    return load


def _is_integral(value):
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        import numpy as np
        dtype = np.asarray(value).dtype
    return str(getattr(dtype, "name", dtype)).lstrip("u").startswith("int")


# --- What 0.x functions did -----------------------------------------------------------------------------

def _tf():
    return importlib.import_module("tensorflow").compat.v1


def select(condition, t, e, name=None):
    """0.x's tf.select: a tensor of t's shape, elements of t where the condition holds, of e elsewhere."""
    return _tf().where(condition, t, e, name=name)


def summary(kind):
    """0.x's tf.scalar_summary(tag, values) and its like."""
    def old_summary(tag, tensor, *args, **kwargs):
        if kind in ("image", "audio"):
            for old, now in (("max_images", "max_outputs"),):
                if old in kwargs:
                    kwargs[now] = kwargs.pop(old)
        return getattr(_tf().summary, kind)(tag, tensor, *args, **kwargs)

    old_summary.__name__ = kind + "_summary"
    return old_summary


def op_scope(values, name, default_name=None):
    """0.x's op_scope: tf.name_scope with its arguments in another order."""
    return _tf().name_scope(name, default_name, values)


def transpose_batch_time(x):
    """Swap the first two axes."""
    tf = _tf()
    return tf.transpose(x, tf.concat([[1, 0], tf.range(2, tf.rank(x))], 0))


def is_trainable(tensor):
    """Whether a gradient can go through a tensor of this dtype."""
    return tensor.dtype.base_dtype.is_floating or tensor.dtype.base_dtype.is_complex


__all__ = ["LegacyWarning", "install"]
