"""What graphgrad raises and warns: one base, few leaves.

Every message says what was asked, what was found and what to do.
"""


class GraphGradError(Exception):
    """Base of every error that graphgrad raises on purpose."""

    #: TensorFlow's autograph would hand them on as another type, with the source of tf.function around the message.
    ag_pass_through = True


class RegistrationError(GraphGradError, ValueError):
    """A gradient name is taken, unknown, or not usable."""


class OverrideError(GraphGradError, ValueError):
    """An override cannot do what was asked of it, so it does nothing at all."""


class GradientError(GraphGradError, ValueError):
    """A gradient function broke its contract: count, dtype, shape or kind of what it returned."""


class ForwardError(GraphGradError, RuntimeError):
    """A numpy forward raised, or returned another count, dtype or shape than was declared."""


class ResultFileError(GraphGradError, ValueError):
    """A result file is missing, truncated, foreign, or newer than this graphgrad."""


class SaliencyError(GraphGradError, ValueError):
    """A saliency map cannot be made from what was given: the model, its tensors, the class or the images."""


class CheckError(GraphGradError, AssertionError):
    """check_gradient found a gradient that is not what it claims to be, or a forward that an override changed."""


class OpLibraryError(GraphGradError, RuntimeError):
    """A library of C++ operations is missing, stale, or does not compile."""


class ClusterError(GraphGradError, RuntimeError):
    """A task of a cluster does not answer."""


class UsageError(GraphGradError):
    """A command was given something it cannot work with; the command line exits with status 2."""


class OverrideWarning(UserWarning):
    """An override matched no op, or no gradient went through what it tagged."""

    __init__ = Exception.__init__   # so that autograph, where it is made an error, raises it as what it is
