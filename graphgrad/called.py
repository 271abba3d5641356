"""Form 3: a Keras model, tf.function or plain function, called under an override."""
import contextlib
import inspect
import sys

from . import _tf
from ._tf import tf
from .errors import OverrideError
from .sources import label, place_of

#: Methods of a Keras model that differentiate it, in a train_step that they run in a graph.
_TRAINING = ("fit", "train_on_batch", "fit_generator")
#: Attributes of a Keras model that are of the model as it was built, and would be ordinary without a word.
_WITHHELD = {
    "would train without the override: use fit or train_on_batch, or a tf.GradientTape around override(model)(x)":
        ("train_step", "make_train_function", "train_function", "train_tf_function"),
    "was built without the override: call override(model)(x), or open 'with override.on(graph):' around tf.gradients":
        ("output", "outputs", "get_output_at"),
    "would write the model without the override: call override(model) in a tf.function of a tf.Module, and save that with "
    "tf.saved_model.save":
        ("export",),
}
_WHY_WITHHELD = {name: why for why, names in _WITHHELD.items() for name in names}


class Overridden:
    """A callable under an override.

    Called in eager mode it runs in one ``tf.function``, traced once per input signature with the override open;
    in a graph the override is open for the call. ``fit`` and ``train_on_batch`` of a Keras model train under
    the override, ``call`` is the call, and of a tf.function ``get_concrete_function`` is its own. What would be
    ordinary (``train_step``, ``output``, ``export``) is refused. Every other attribute is the wrapped object's.
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
        leaves = tf.nest.flatten((args, kwargs))
        _refuse_keras_tensors(leaves, self)
        if not tf.executing_eagerly():
            return self._in_graph(*args, **kwargs)
        _tf.refuse_forward_mode(leaves, self._override)
        return self._in_eager(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or "__wrapped__" not in self.__dict__:
            raise AttributeError(name)
        value = getattr(self.__wrapped__, name)
        if name in _WHY_WITHHELD and _is_keras_model(self.__wrapped__):
            raise OverrideError("{} of a model under an override {}.".format(name, _WHY_WITHHELD[name]))
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


def _is_keras_model(function):
    return hasattr(type(function), "trainable_weights") and hasattr(type(function), "fit")


def _refuse_keras_tensors(leaves, called):
    """Raise if one of the arguments is a symbolic tensor of Keras's, of which nothing is differentiated.

    Keras notes which layers it went through, and calls those again, without what was open then.
    """
    for leaf in leaves:
        if type(leaf).__name__ == "KerasTensor":
            raise OverrideError(
                "{!r} was called with a symbolic Keras tensor: the model made of it would call its layers again, without "
                "the override. Put override(model) into it as layers.Lambda(override(model)), or call the whole model "
                "through the override.".format(called))


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
