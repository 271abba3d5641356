"""Keras 1's arguments and layer protocol, on the classes of Keras 2, so that instances stay what they are.

Wraps constructors and methods in place: ``Convolution2D(8, 3, 3, border_mode="same")``, ``Model(input=x, output=y)``,
``fit(nb_epoch=2)``, ``self.trainable_weights = []`` in a layer, ``get_output_shape_for``.
"""
import functools
import importlib

from .catalogue import note

_WEIGHTS = {"init": "kernel_initializer", "W_regularizer": "kernel_regularizer", "b_regularizer": "bias_regularizer",
            "W_constraint": "kernel_constraint", "b_constraint": "bias_constraint", "bias": "use_bias"}
_CONVOLUTION = dict(_WEIGHTS, nb_filter="filters", subsample="strides", border_mode="padding",
                    dim_ordering="data_format", filter_length="kernel_size", subsample_length="strides",
                    atrous_rate="dilation_rate", depthwise_init="depthwise_initializer")
_POOLING = {"border_mode": "padding", "dim_ordering": "data_format", "pool_length": "pool_size", "stride": "strides"}
_RECURRENT = {"output_dim": "units", "init": "kernel_initializer", "inner_init": "recurrent_initializer",
              "inner_activation": "recurrent_activation", "W_regularizer": "kernel_regularizer",
              "U_regularizer": "recurrent_regularizer", "b_regularizer": "bias_regularizer", "dropout_W": "dropout",
              "dropout_U": "recurrent_dropout", "forget_bias_init": "unit_forget_bias", "consume_less": None}
_ORDER = {"dim_ordering": "data_format"}
#: class -> {Keras 1's argument: Keras 2's}; None drops it.
_RENAMED = dict(
    {name: _CONVOLUTION for name in ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "SeparableConv2D")},
    **{name: _POOLING for name in ("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D",
                                   "AveragePooling2D", "AveragePooling3D", "GlobalMaxPooling2D",
                                   "GlobalAveragePooling2D")})
_RENAMED.update({name: _RECURRENT for name in ("LSTM", "GRU", "SimpleRNN")})
_RENAMED.update({name: {"p": "rate"} for name in ("Dropout", "SpatialDropout1D", "SpatialDropout2D",
                                                  "SpatialDropout3D", "GaussianDropout")})
_RENAMED.update({
    "Dense": dict(_WEIGHTS, output_dim="units"), "GaussianNoise": {"sigma": "stddev"}, "PReLU": {
        "init": "alpha_initializer"}, "UpSampling2D": _ORDER, "ZeroPadding2D": _ORDER, "Cropping2D": _ORDER,
    "Embedding": {"init": "embeddings_initializer", "W_regularizer": "embeddings_regularizer",
                  "W_constraint": "embeddings_constraint"},
    "BatchNormalization": {"mode": None, "beta_init": "beta_initializer", "gamma_init": "gamma_initializer"}})
_ORDERINGS = {"tf": "channels_last", "th": "channels_first", "default": None}
_SIDES = (("nb_row", "nb_col"), ("kernel_dim1", "kernel_dim2", "kernel_dim3"))


def translated(kind, args, kwargs):
    """Keras 2's arguments for Keras 1's.

    Args:
        kind: the name of the class.
        args, kwargs: as they were given, without self.
    """
    known = _RENAMED[kind]
    if kind == "BatchNormalization" and kwargs.get("mode") == 1:
        raise ValueError("BatchNormalization(mode=1), per sample, is gone since Keras 2; graphgrad does not supply it.")
    if kind in ("Conv2D", "Conv2DTranspose", "SeparableConv2D") and len(args) >= 3 and all(
            isinstance(value, int) for value in args[:3]):
        note("{}({}, {}, {}) was taken as Keras 1's (filters, rows, columns); write the last two as one tuple.".format(
            kind, *args[:3]))
        args = (args[0], args[1:3]) + args[3:]
    for sides in _SIDES:
        if all(side in kwargs for side in sides):
            kwargs["kernel_size"] = tuple(kwargs.pop(side) for side in sides)
    for old, now in known.items():
        if old in kwargs:
            value = kwargs.pop(old)
            if old == "dim_ordering":
                value = _ORDERINGS[value]
            elif old == "forget_bias_init":
                value = value == "one"
            if now is not None:
                kwargs[now] = value
    return args, kwargs


def install(source, finder):
    """Wrap the classes of a Keras 2; returns functions that undo it. ``finder.own`` gets what is ours."""
    keras = importlib.import_module("tensorflow").compat.v1.keras
    undo, done = [], set()
    for kind in sorted(_RENAMED):
        layer = getattr(keras.layers, kind, None)
        # One class may be another's base: Conv2D's constructor calls Conv's, LSTM's in version 2 that of version 1.
        if layer is not None and layer not in done and "__init__" in vars(layer):
            done.add(layer)
            undo.append(_wrap(layer, "__init__", functools.partial(_constructor, kind)))
    for name in ("base_layer", "base_layer_v1"):
        base = importlib.import_module(source.__name__ + ".engine." + name).Layer
        undo += [_wrap(base, "add_weight", _add_weight), _wrap(base, "compute_output_shape", _output_shape)]
        undo += [_settable(base, kind) for kind in ("trainable", "non_trainable") if kind + "_weights" in vars(base)]
    for name, kind in (("training", "Model"), ("training_v1", "Model"), ("functional", "Functional")):
        model = getattr(importlib.import_module(source.__name__ + ".engine." + name), kind)
        undo += [_wrap(model, "__init__", _model)]
        if "__new__" in vars(model):   # decides on its arguments whether it is a functional model
            undo.append(_wrap(model, "__new__", lambda original: staticmethod(_model(original))))
        undo += [_wrap(model, method, _training) for method in ("fit", "fit_generator", "evaluate_generator",
                                                                 "predict_generator") if method in vars(model)]
        if "compile" in vars(model):
            undo.append(_wrap(model, "compile", functools.partial(_compile, importlib.import_module(
                source.__name__ + ".optimizers.optimizer_v1"))))
    finder.own.update(_own(keras))
    tensor = importlib.import_module("tensorflow").compat.v1.Tensor
    if not hasattr(tensor, "_keras_shape"):
        tensor._keras_shape = property(lambda self: tuple(self.get_shape().as_list()))
        undo.append(lambda: delattr(tensor, "_keras_shape"))
    return undo


def _wrap(owner, name, make):
    original = vars(owner).get(name)
    setattr(owner, name, make(getattr(owner, name)))
    return lambda: setattr(owner, name, original) if original is not None else delattr(owner, name)


def _constructor(kind, original):
    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        args, kwargs = translated(kind, args, kwargs)
        original(self, *args, **kwargs)
    return __init__


def _add_weight(original):
    @functools.wraps(original)
    def add_weight(self, *args, **kwargs):
        """Keras 1: add_weight(shape, initializer, name)."""
        if args and isinstance(args[0], (tuple, list)):
            kwargs.update(zip(("shape", "initializer", "name", "trainable", "regularizer", "constraint"), args))
            args = ()
        return original(self, *args, **kwargs)
    return add_weight


def _output_shape(original):
    @functools.wraps(original)
    def compute_output_shape(self, input_shape):
        old = getattr(type(self), "get_output_shape_for", None)
        return original(self, input_shape) if old is None else old(self, input_shape)
    return compute_output_shape


def _settable(base, kind):
    """Let a layer say which its weights are, as Keras 1's do: ``self.trainable_weights = [...]``."""
    name = kind + "_weights"
    before = vars(base)[name]

    def write(self, value):
        known = [variable for variable in getattr(self, "_" + name) if not any(variable is other for other in value)]
        for variable in known:
            getattr(self, "_" + name).remove(variable)
        getattr(self, "_" + name).extend(variable for variable in value if not any(
            variable is other for other in getattr(self, "_" + name)))

    setattr(base, name, property(before.fget, write, before.fdel, before.__doc__))
    return lambda: setattr(base, name, before)


def _model(original):
    @functools.wraps(original)
    def construct(self_or_class, *args, **kwargs):
        for old, now in (("input", "inputs"), ("output", "outputs")):
            if old in kwargs:
                kwargs[now] = kwargs.pop(old)
        return original(self_or_class, *args, **kwargs)
    return construct


def _compile(old, original):
    names = {name.lower(): name for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam")}

    @functools.wraps(original)
    def compile(self, optimizer="rmsprop", *args, **kwargs):
        """A name means the optimizer with Keras 2.2's learning rate, which changed for four of them."""
        if isinstance(optimizer, str) and optimizer.lower() in names:
            optimizer = getattr(old, names[optimizer.lower()])()
        return original(self, optimizer, *args, **kwargs)
    return compile


def _training(original):
    @functools.wraps(original)
    def method(self, *args, **kwargs):
        for old, now in (("nb_epoch", "epochs"), ("max_q_size", "max_queue_size"), ("nb_worker", "workers"),
                         ("pickle_safe", "use_multiprocessing")):
            if old in kwargs:
                kwargs[now] = kwargs.pop(old)
        for old in ("samples_per_epoch", "nb_val_samples", "val_samples"):
            if old in kwargs:
                raise TypeError("{}= counts samples and is gone since Keras 2, which counts batches: write "
                                "steps_per_epoch= or validation_steps=.".format(old))
        return original(self, *args, **kwargs)
    return method


def _own(keras):
    """Names of Keras 1 that are ours."""
    def set_image_dim_ordering(dim_ordering):
        """'tf' or 'th'."""
        keras.backend.set_image_data_format(_ORDERINGS[dim_ordering])

    def image_dim_ordering():
        """'tf' or 'th'."""
        return {"channels_last": "tf", "channels_first": "th"}[keras.backend.image_data_format()]

    def time_distributed_dense(output_dim, **kwargs):
        """TimeDistributed(Dense(...))."""
        shape = {key: kwargs.pop(key) for key in ("input_shape", "input_dim", "input_length") if key in kwargs}
        return keras.layers.TimeDistributed(keras.layers.Dense(output_dim, **kwargs), **shape)

    def probas_to_classes(y_pred):
        """The class of each row."""
        return (y_pred > 0.5).astype("int32") if y_pred.ndim < 2 or y_pred.shape[1] == 1 else y_pred.argmax(axis=1)

    return {
        "backend": {"image_dim_ordering": image_dim_ordering, "set_image_dim_ordering": set_image_dim_ordering,
                    "_BACKEND": "tensorflow", "tf": importlib.import_module("tensorflow").compat.v1},
        "layers": {"TimeDistributedDense": time_distributed_dense, "K": keras.backend},
        "utils": {"probas_to_classes": probas_to_classes},
        "engine": {"merge": functools.partial(merge, keras.layers), "Network": keras.Model,
                   "Container": keras.Model}}


_MERGES = {"sum": "add", "mul": "multiply", "ave": "average", "max": "maximum", "concat": "concatenate"}


def merge(layers, inputs, mode="sum", concat_axis=-1, dot_axes=-1, output_shape=None, output_mask=None,
          arguments=None, name=None, node_indices=None, tensor_indices=None):
    """Keras 1's merge of tensors; ``layers`` has Keras 2's functions."""
    if callable(mode):
        return importlib.import_module("tensorflow").compat.v1.keras.layers.Lambda(
            mode, output_shape=output_shape, arguments=arguments, name=name)(inputs)
    if mode == "concat":
        return layers.concatenate(inputs, axis=concat_axis, name=name)
    if mode in ("dot", "cos"):
        return layers.dot(inputs, axes=dot_axes, normalize=mode == "cos", name=name)
    return getattr(layers, _MERGES[mode])(inputs, name=name)
