"""tf.contrib.learn: the words for modes, and MNIST from a folder. Its estimators are gone."""
from . import mnist as datasets  # noqa: F401 (handed on)


class ModeKeys:
    """The modes of a model function."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"
