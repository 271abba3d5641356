"""tf.contrib.framework: scopes, model variables, and reading checkpoints."""
import functools

from tensorflow.python.util import nest  # noqa: F401 (handed on)

from .._tf1 import tf
from .arg_scopes import (  # noqa: F401 (handed on)
    add_arg_scope,
    arg_scope,
    arg_scope_func_key,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)

NewCheckpointReader = tf.train.NewCheckpointReader
list_variables = tf.train.list_variables
load_variable = tf.train.load_variable
load_checkpoint = tf.train.load_checkpoint
init_from_checkpoint = tf.train.init_from_checkpoint
get_global_step = tf.train.get_global_step
get_or_create_global_step = tf.train.get_or_create_global_step
create_global_step = tf.train.create_global_step
assert_global_step = tf.train.assert_global_step
sort = tf.sort
argsort = tf.argsort


@add_arg_scope
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
             caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    """tf.get_variable on a device."""
    collections = list(collections if collections is not None else [tf.GraphKeys.GLOBAL_VARIABLES])
    getter = tf.get_variable if custom_getter is None else functools.partial(   # which is not given get_variable
        custom_getter, reuse=tf.get_variable_scope().reuse)
    with tf.device(device or ""):
        return getter(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                      trainable=trainable, collections=sorted(set(collections)), caching_device=caching_device,
                      partitioner=partitioner, use_resource=use_resource)


@add_arg_scope
def model_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
                   caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    """A variable that is also in the collection MODEL_VARIABLES."""
    collections = list(collections or []) + [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES]
    return variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                    trainable=trainable, collections=collections, caching_device=caching_device, device=device,
                    partitioner=partitioner, custom_getter=custom_getter, use_resource=use_resource)


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """A variable in the collection LOCAL_VARIABLES."""
    return tf.Variable(initial_value, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES],
                       validate_shape=validate_shape, name=name)


def get_variables(scope=None, suffix=None, collection=tf.GraphKeys.GLOBAL_VARIABLES):
    """The variables of a collection whose names begin with the scope and end with the suffix."""
    if isinstance(scope, tf.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":")
    return tf.get_collection(collection, scope)


def get_model_variables(scope=None, suffix=None):
    """Those of the collection MODEL_VARIABLES."""
    return get_variables(scope, suffix, tf.GraphKeys.MODEL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    """Those of the collection TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, tf.GraphKeys.TRAINABLE_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    """Those of the collection LOCAL_VARIABLES."""
    return get_variables(scope, suffix, tf.GraphKeys.LOCAL_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    """Those whose last part is the name."""
    return get_variables(scope, "/" + given_name + ":|^" + given_name + ":")


def get_variables_by_suffix(suffix, scope=None):
    """Those whose names end so."""
    return get_variables(scope, suffix)


def get_unique_variable(var_op_name):
    """The variable of this name."""
    candidates = [v for v in get_variables(var_op_name) if v.op.name == var_op_name]
    if not candidates:
        raise ValueError("Couldn't find variable {}".format(var_op_name))
    return candidates[0]


def get_variables_to_restore(include=None, exclude=None):
    """The variables under the scopes ``include``, but those under ``exclude``."""
    if include is None:
        include = [""]
    wanted = [v for scope in include for v in get_variables(scope or None)]
    unwanted = {v.name for scope in exclude or () for v in get_variables(scope)}
    named = {v.name: v for v in wanted if v.name not in unwanted}
    return list(named.values())


filter_variables = get_variables_to_restore


def get_name_scope():
    """The current name scope."""
    return tf.get_default_graph().get_name_scope()


def assign_from_values(var_names_to_values):
    """(op, feed_dict) that set variables, by name, to arrays."""
    feed, assigns = {}, []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        placeholder = tf.placeholder(tf.as_dtype(value.dtype), value.shape)
        assigns.append(var.assign(placeholder))
        feed[placeholder] = value.reshape(var.get_shape().as_list())
    return tf.group(*assigns), feed


def assign_from_values_fn(var_names_to_values):
    """A function of a session that sets them."""
    op, feed = assign_from_values(var_names_to_values)
    return lambda session: session.run(op, feed)


def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False, reshape_variables=False):
    """A function of a session that restores variables (a list, or a dict from names in the file) from a checkpoint."""
    if ignore_missing_vars:
        there = NewCheckpointReader(model_path).get_variable_to_shape_map()
        named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        var_list = {name: v for name, v in named.items() if name in there}
    if not var_list:
        return None
    saver = tf.train.Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """(op, feed_dict) that restore variables from a checkpoint."""
    reader = NewCheckpointReader(model_path)
    named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    values = {v.op.name: reader.get_tensor(name) for name, v in named.items()
              if not ignore_missing_vars or reader.has_tensor(name)}
    return assign_from_values(values)


def is_tensor(x):
    """Whether it is a tensor or a variable."""
    return isinstance(x, (tf.Tensor, tf.SparseTensor, tf.Variable))


def with_shape(expected_shape, tensor):
    """The tensor, its static shape set."""
    tensor.set_shape(expected_shape)
    return tensor


def constant_value(pred):
    """The value of a predicate if it is known now, else None."""
    from tensorflow.python.framework import tensor_util
    return pred if isinstance(pred, bool) else tensor_util.constant_value(pred)


def smart_cond(pred, fn1, fn2, name=None):
    """fn1() or fn2() if the predicate is known, else tf.cond."""
    from .._tf1 import smart_cond as choose
    return choose(pred, fn1, fn2)


smart_constant_value = constant_value


def deprecated(date, instructions, warn_once=True):
    """A decorator that changes nothing."""
    return lambda function: function


def deprecated_args(date, instructions, *names, **named):
    """A decorator that changes nothing."""
    return lambda function: function
