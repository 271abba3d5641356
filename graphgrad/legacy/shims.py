"""TensorFlow's own names that went away or moved, one entry each: what 0.x, 1.0 to 1.15 and tensorflow.python had."""
import functools
import importlib
import os
import sys
import types

from . import old_calls
from .catalogue import enter, entries, look_up_missing

_OPS = "tensorflow.python.ops."
_FRAMEWORK = "tensorflow.python.framework."


def _of(module, name):
    return lambda: getattr(importlib.import_module(module), name)


def _module_named(name):
    return lambda: importlib.import_module(name)


def _v1(path):
    def make():
        value = importlib.import_module("tensorflow").compat.v1
        for part in path.split("."):
            value = getattr(value, part)
        return value
    return make


def _renamed(module, gone, names, prefix="tf."):
    for old, now in names.items():
        enter(module, old, gone, prefix + now, _v1(now))


def _enter_all():
    # TF 0.x, gone in 1.0.
    _renamed("tensorflow", "TF 1.0", {
        "mul": "multiply", "sub": "subtract", "neg": "negative", "pack": "stack", "unpack": "unstack",
        "batch_matmul": "matmul", "complex_abs": "abs", "inv": "reciprocal", "listdiff": "setdiff1d",
        "batch_matrix_diag": "matrix_diag", "batch_matrix_transpose": "matrix_transpose",
        "batch_matrix_inverse": "matrix_inverse", "batch_cholesky": "cholesky", "batch_svd": "svd",
        "batch_matrix_determinant": "matrix_determinant", "batch_self_adjoint_eig": "self_adjoint_eig",
        "batch_matrix_band_part": "matrix_band_part", "batch_matrix_diag_part": "matrix_diag_part",
        "batch_matrix_set_diag": "matrix_set_diag", "batch_matrix_solve": "matrix_solve",
        "batch_fft": "fft", "batch_ifft": "ifft", "batch_fft2d": "fft2d", "batch_ifft2d": "ifft2d",
        "merge_summary": "summary.merge"})
    for name, now, make in (
            ("select", "tf.where", lambda: old_calls.select),
            ("scalar_summary", "tf.summary.scalar", lambda: old_calls.summary("scalar")),
            ("histogram_summary", "tf.summary.histogram", lambda: old_calls.summary("histogram")),
            ("image_summary", "tf.summary.image", lambda: old_calls.summary("image")),
            ("audio_summary", "tf.summary.audio", lambda: old_calls.summary("audio")),
            ("merge_all_summaries", "tf.summary.merge_all", _v1("summary.merge_all")),
            ("op_scope", "tf.name_scope", lambda: old_calls.op_scope)):
        enter("tensorflow", name, "TF 1.0", now, make)
    enter("tensorflow", "estimator", "TF 2.16", "install tensorflow 2.15, or write the training loop with a Session")
    enter("tensorflow", "concat_v2", "TF 1.0", "tf.concat", _v1("concat"))
    enter("tensorflow", "deconv2d", "TF 0.6", "tf.nn.conv2d_transpose", _v1("nn.conv2d_transpose"))
    enter("tensorflow.nn", "deconv2d", "TF 0.6", "tf.nn.conv2d_transpose", _v1("nn.conv2d_transpose"))
    enter("tensorflow", "pywrap_tensorflow", "TF 2.0", "tf.train.NewCheckpointReader",
          _module_named("graphgrad.legacy.contrib.framework"))
    enter("tensorflow.train", "SummaryWriter", "TF 1.0", "tf.summary.FileWriter", _v1("summary.FileWriter"))
    for old, now in (("rnn", "static_rnn"), ("bidirectional_rnn", "static_bidirectional_rnn"),
                     ("state_saving_rnn", "static_state_saving_rnn")):
        enter("tensorflow.nn", old, "TF 1.0", "tf.nn." + now, _v1("nn." + now))
    enter("tensorflow.nn", "seq2seq", "TF 1.0", "tf.contrib.legacy_seq2seq",
          _module_named("graphgrad.legacy.contrib.seq2seq"))
    enter("tensorflow.image", "per_image_whitening", "TF 1.0", "tf.image.per_image_standardization",
          _v1("image.per_image_standardization"))

    # TF 1.x layers, which Keras 3 does not carry.
    for name in ("dense", "conv1d", "conv2d", "conv3d", "conv2d_transpose", "conv3d_transpose", "separable_conv1d",
                 "separable_conv2d", "dropout", "flatten", "max_pooling1d", "max_pooling2d", "max_pooling3d",
                 "average_pooling1d", "average_pooling2d", "average_pooling3d", "Layer", "InputSpec", "Dense",
                 "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "SeparableConv1D",
                 "SeparableConv2D", "Dropout", "Flatten", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D",
                 "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "batch_normalization",
                 "BatchNormalization", "experimental"):
        enter("tensorflow.layers", name, "TF 2.16 (Keras 3)", "the package tf_keras, or tf.Variable and tf.nn",
              _of("graphgrad.legacy.layers", name))
    for name in ("BasicRNNCell", "BasicLSTMCell", "LSTMCell", "GRUCell", "RNNCell", "LSTMStateTuple", "MultiRNNCell",
                 "DropoutWrapper", "ResidualWrapper", "DeviceWrapper"):
        enter("tensorflow.nn.rnn_cell", name, "TF 2.16 (Keras 3)", "the package tf_keras",
              _of(_OPS + "rnn_cell_impl", name))
    for old in ("_linear", "_Linear"):
        enter(_OPS + "rnn_cell_impl", old, "TF 1.15", "tf.matmul over tf.concat",
              _of("graphgrad.legacy.contrib.rnn", old))
    for name in ("BatchNormalization", "BatchNorm", "batch_normalization", "batch_norm"):
        enter("tensorflow.python.layers.normalization", name, "TF 2.16 (Keras 3)", "the package tf_keras",
              _of("graphgrad.legacy.layers", "BatchNormalization" if name[0] == "B" else "batch_normalization"))
    for name in ("BatchNormalization", "batch_normalization"):
        enter("tensorflow.python.layers.layers", name, "TF 2.16 (Keras 3)", "the package tf_keras",
              _of("graphgrad.legacy.layers", name))

    # tensorflow.python: private names that gradient code uses.
    for module, names in (
            ("gen_nn_ops", "relu_grad relu6_grad elu_grad selu_grad softplus_grad softsign_grad max_pool_grad "
                           "avg_pool_grad lrn_grad leaky_relu_grad max_pool_grad_grad max_pool_grad_with_argmax "
                           "fused_batch_norm_grad fused_batch_norm max_pool avg_pool lrn relu top_k top_kv2 "
                           "fractional_max_pool_grad fractional_avg_pool_grad max_pool3d_grad avg_pool3d_grad"),
            ("gen_math_ops", "sigmoid_grad tanh_grad sqrt_grad rsqrt_grad reciprocal_grad inv_grad mul sub neg sum "
                             "mean prod max min mat_mul batch_mat_mul sparse_mat_mul range real_div pow sigmoid tanh "
                             "square cast complex add floor_div mod abs log exp sign select"),
            ("gen_array_ops", "broadcast_gradient_args mirror_pad_grad concat_v2 concat_offset pack unpack slice "
                              "strided_slice strided_slice_grad shape placeholder split split_v gather_v2 one_hot "
                              "reshape expand_dims reverse_v2 where fill pad list_diff unique identity"),
            ("gen_state_ops", "temporary_variable destroy_temporary_variable variable variable_v2 "
                              "is_variable_initialized assign assign_add assign_sub scatter_update scatter_add"),
            ("gen_image_ops", "resize_bilinear_grad resize_nearest_neighbor_grad resize_bicubic_grad"),
            ("gen_control_flow_ops", "enter exit merge switch next_iteration loop_cond ref_enter ref_exit ref_switch"),
            ("gen_data_flow_ops", "stack stack_push stack_pop stack_close"),
            ("gen_random_ops", "random_standard_normal random_uniform truncated_normal random_shuffle multinomial"),
            ("gen_script_ops", "py_func py_func_stateless"),
            ("gen_logging_ops", "print assert scalar_summary histogram_summary")):
        for name in names.split():
            enter(_OPS + module, "_" + name, "TF 1.15", name + ", in the same module", _of(_OPS + module, name))
    for module, name, gone, now, make in (
            (_FRAMEWORK + "ops", "Tensor", "TF 2.16", "tf.Tensor", _v1("Tensor")),
            (_FRAMEWORK + "ops", "IndexedSlices", "TF 2.13", "tf.IndexedSlices", _v1("IndexedSlices")),
            (_FRAMEWORK + "ops", "IndexedSlicesValue", "TF 2.13", "tf.compat.v1.IndexedSlicesValue",
             _of(_FRAMEWORK + "indexed_slices", "IndexedSlicesValue")),
            (_FRAMEWORK + "ops", "SparseTensor", "TF 1.0", "tf.SparseTensor", _v1("SparseTensor")),
            (_FRAMEWORK + "ops", "NoGradient", "TF 2.0", "tf.no_gradient", _v1("NoGradient")),
            (_FRAMEWORK + "ops", "op_scope", "TF 1.15", "tf.name_scope", lambda: old_calls.op_scope),
            (_FRAMEWORK + "ops", "RegisterShape", "TF 1.0", "nothing: shapes come from C++",
             lambda: lambda name: lambda function=None: function),
            (_FRAMEWORK + "ops", "convert_n_to_tensor_or_indexed_slices", "TF 2.0", "tf.convert_to_tensor",
             _of(_FRAMEWORK + "indexed_slices", "convert_n_to_tensor_or_indexed_slices")),
            (_FRAMEWORK + "ops", "convert_to_tensor_or_indexed_slices", "TF 2.0", "tf.convert_to_tensor",
             _v1("convert_to_tensor_or_indexed_slices")),
            (_FRAMEWORK + "ops", "add_to_collection", "TF 2.0", "tf.compat.v1.add_to_collection",
             _v1("add_to_collection")),
            (_OPS + "variables", "RefVariable", "TF 2.15", "tf.compat.v1.Variable(use_resource=False)",
             _of(_OPS + "ref_variable", "RefVariable")),
            (_OPS + "variables", "VariableV1", "TF 2.15", "tf.compat.v1.Variable", _v1("Variable")),
            (_OPS + "variables", "PartitionedVariable", "TF 2.15", "tf.compat.v1.fixed_size_partitioner",
             _of(_OPS + "variables", "PartitionedVariable")),
            (_OPS + "variables", "all_variables", "TF 2.15", "tf.compat.v1.global_variables", _v1("all_variables")),
            ("tensorflow.python.eager.context", "in_graph_mode", "TF 1.15", "not tf.executing_eagerly()",
             lambda: lambda: not _v1("executing_eagerly")()()),
            ("tensorflow.python.eager.context", "in_eager_mode", "TF 1.15", "tf.executing_eagerly",
             _v1("executing_eagerly")),
            ("tensorflow.python.util.all_util", "make_all", "TF 2.0", "__all__", lambda: lambda *a, **k: []),
            ("tensorflow.python.util.all_util", "remove_undocumented", "TF 2.0", "__all__",
             lambda: lambda *a, **k: None),
            ("tensorflow.python.pywrap_tensorflow", "NewCheckpointReader", "TF 2.0", "tf.train.NewCheckpointReader",
             _v1("train.NewCheckpointReader")),
            ("tensorflow.python.util.nest", "is_sequence", "TF 2.9", "nest.is_nested",
             _of("tensorflow.python.util.nest", "is_nested")),
            (_FRAMEWORK + "graph_util", "convert_variables_to_constants", "TF 2.0",
             "tf.compat.v1.graph_util.convert_variables_to_constants",
             _v1("graph_util.convert_variables_to_constants")),
            (_FRAMEWORK + "graph_util", "remove_training_nodes", "TF 2.0",
             "tf.compat.v1.graph_util.remove_training_nodes", _v1("graph_util.remove_training_nodes")),
            (_FRAMEWORK + "common_shapes", "unknown_shape", "TF 2.0", "nothing: shapes come from C++",
             lambda: lambda op: [_v1("TensorShape")()(None) for _ in op.outputs]),
            (_OPS + "variable_scope", "variable", "TF 2.15", "tf.compat.v1.Variable", _v1("Variable")),
            (_FRAMEWORK + "ops", "set_shapes_for_outputs", "TF 1.15", "nothing: shapes come from C++",
             lambda: lambda op: None),
            (_OPS + "rnn", "_transpose_batch_time", "TF 2.0", "tf.transpose", lambda: old_calls.transpose_batch_time),
            (_OPS + "nn_ops", "_relu_grad", "TF 1.0", "tf.raw_ops.ReluGrad", _of(_OPS + "gen_nn_ops", "relu_grad")),
            (_OPS + "gradients_impl", "_IsBackpropagatable", "TF 1.14", "tensor.dtype.is_floating",
             lambda: old_calls.is_trainable),
            (_OPS + "gradients_util", "_IsBackpropagatable", "TF 2.4", "tensor.dtype.is_floating",
             lambda: old_calls.is_trainable),
            (_OPS + "gradients_impl", "_hessian_vector_product", "TF 1.14", "tf.gradients twice",
             _of(_OPS + "gradients_impl", "_hessian_vector_product")),
            (_FRAMEWORK + "common_shapes", "unchanged_shape", "TF 2.0", "nothing: shapes come from C++",
             lambda: lambda op: [op.inputs[0].get_shape()])):
        enter(module, name, gone, now, make)
    for name in ("cond", "while_loop", "case", "Assert", "switch_case"):
        enter(_OPS + "control_flow_ops", name, "TF 2.13", "tf.compat.v1." + name, _control_flow(name))
    for name in ("merge", "switch"):
        enter(_OPS + "control_flow_ops", name, "TF 2.16", "tf.raw_ops",
              _of(_OPS + "gen_control_flow_ops", name))


def _control_flow(name):
    homes = {"Assert": "control_flow_assert", "while_loop": "while_loop", "cond": "cond", "case": "control_flow_case",
             "switch_case": "control_flow_switch_case"}
    return _of(_OPS + homes[name], name) if name != "switch_case" else _v1("switch_case")


_enter_all()


def install(tensorflow):
    """Let TensorFlow's modules supply the names of this page; returns functions that undo it."""
    undo = []
    for title in sorted({entry.module for entry in entries() if entry.module.startswith("tensorflow")}):
        module = _module(tensorflow, title)
        if module is not None:
            undo.append(look_up_missing(module, title))
    undo += _layers(tensorflow)
    undo += old_calls.install(tensorflow)
    undo += _operation_lists()
    return undo


def _module(tensorflow, title):
    if title.startswith("tensorflow.python"):
        if title in sys.modules:
            return sys.modules[title]
        try:
            return importlib.import_module(title)
        except ImportError:
            return None
    module = tensorflow.compat.v1 if not tensorflow.__version__.startswith("1.") else tensorflow
    for part in title.split(".")[1:]:
        if part in ("layers", "rnn_cell"):
            return None
        module = getattr(module, part)
    return module


def has_keras_3(tensorflow):
    """Whether this TensorFlow's tf.keras is Keras 3, which refuses tf.layers; told without importing it."""
    version = tuple(int(part) for part in tensorflow.__version__.split(".")[:2])
    return version >= (2, 16) and os.environ.get("TF_USE_LEGACY_KERAS", "").lower() not in ("1", "true")


def _layers(tensorflow):
    """Replace tf.layers and tf.nn.rnn_cell where they are Keras 3's refusal."""
    v1 = tensorflow.compat.v1
    if not has_keras_3(tensorflow):
        return []
    undo = []
    for owner, name, title in ((v1, "layers", "tensorflow.layers"), (v1.nn, "rnn_cell", "tensorflow.nn.rnn_cell")):
        made = types.ModuleType(title, "What TensorFlow still carries of it, with 1.15's names.")
        look_up_missing(made, title)
        made.__dir__ = functools.partial(sorted, entries(title))
        before = getattr(owner, name)
        setattr(owner, name, made)
        undo.append(functools.partial(setattr, owner, name, before))
    return undo


def _operation_lists():
    """Operation._inputs and _outputs, which 1.x kept as lists."""
    operation = importlib.import_module(_FRAMEWORK + "ops").Operation
    given = []
    for name in ("inputs", "outputs"):
        if not hasattr(operation, "_" + name) and not sys.modules["tensorflow"].__version__.startswith("1."):
            setattr(operation, "_" + name, property(lambda op, name=name: list(getattr(op, name))))
            given.append("_" + name)
    return [lambda: [delattr(operation, name) for name in given]]
