"""Form 3: a Keras model, tf.function or plain function, called under an override."""
import contextlib
import inspect
import sys

from . import _tf
from ._tf import tf
from .errors import OverrideError
from .sources import label, place_of

#: Methods of a Keras model that differentiate it, in a train_step that they run in a graph.
_TRAINING = ("fit", "train_on_batch")


class Overridden:
    """A callable under an override.

    Called in eager mode it runs in one ``tf.function``, traced once per input signature with the override open;
    in a graph the override is open for the call. ``fit`` and ``train_on_batch`` of a Keras model train under
    the override, ``call`` is the call, and of a tf.function ``get_concrete_function`` is its own. Every other
    attribute is the wrapped object's.
    """

    def __init__(self, override, function):
        _check_backend(function)
        self._override = override
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)
        try:
            self.__signature__ = inspect.signature(getattr(function, "python_function", function))
        except (TypeError, ValueError):
            pass

        def under_override(*args, **kwargs):
            with override:
                return function(*args, **kwargs)

        def traced(*args, **kwargs):
            result = under_override(*args, **kwargs)
            for leaf in tf.nest.flatten(result):
                _check_output(leaf, function)
            return result

        self._in_graph = under_override
        self._in_eager = tf.function(traced)

    def __call__(self, *args, **kwargs):
        if not tf.executing_eagerly():
            return self._in_graph(*args, **kwargs)
        _tf.refuse_forward_mode(tf.nest.flatten((args, kwargs)), self._override)
        return self._in_eager(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or "__wrapped__" not in self.__dict__:
            raise AttributeError(name)
        value = getattr(self.__wrapped__, name)
        if name in _TRAINING and callable(value):
            return self._training(name)
        if name == "get_concrete_function":
            return self._in_eager.get_concrete_function
        return self if name == "call" else value

    def __repr__(self):
        return "{!r} under {!r}".format(self.__wrapped__, self._override)

    def _training(self, name):
        """A method of a Keras model that trains it, with its train_step under the override."""
        model, override = self.__wrapped__, self._override
        if not hasattr(model, "train_step"):
            raise OverrideError(
                "{}() of this Keras, of TensorFlow {}, cannot be put under an override: build the model in a graph, "
                "inside a 'with override:' block, and train it there; or train override(model) with a "
                "tf.GradientTape.".format(name, tf.__version__))

        def train(*args, **kwargs):
            with _train_step_under(override, model):
                return getattr(model, name)(*args, **kwargs)

        return train


@contextlib.contextmanager
def _train_step_under(override, model):
    """Let a Keras model trace its train_step anew, under an override; what it traced before is kept for afterwards."""
    original, traced = model.train_step, model.train_function

    def train_step(*args, **kwargs):
        if tf.executing_eagerly():
            raise OverrideError("A model compiled with run_eagerly=True cannot be trained under an override: there is "
                                "no graph in eager mode. Compile it without.")
        with override:
            return original(*args, **kwargs)

    model.train_step, model.train_function = train_step, None
    try:
        yield
    finally:
        del model.train_step
        model.train_function = traced


def _check_output(leaf, function):
    if leaf is None or hasattr(leaf, "_type_spec"):
        return
    try:
        tf.convert_to_tensor(leaf)
    except (TypeError, ValueError):
        raise OverrideError(
            "{} ({}) returned {!r}, which is no tensor: in eager mode it runs in a tf.function under the override, so "
            "return tensors, None, or nested structures of them.".format(
                label(function), place_of(function), leaf)) from None


def _check_backend(function):
    """Raise unless a Keras 3 model computes with TensorFlow."""
    keras = sys.modules.get("keras")
    if keras is None or not type(function).__module__.startswith(("keras.", "keras_")) or not hasattr(keras, "config"):
        return
    backend = keras.config.backend()
    if backend != "tensorflow":
        raise OverrideError(
            "The Keras model {!r} computes with the backend {}, and overrides are of TensorFlow operations: start "
            "Python with KERAS_BACKEND=tensorflow.".format(getattr(function, "name", function), backend))
