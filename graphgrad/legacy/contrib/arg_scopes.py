"""slim's arg_scope: default arguments for functions that were declared to take them."""
import contextlib
import functools
import threading

_local = threading.local()
_declared = set()


def _stack():
    if not hasattr(_local, "stack"):
        _local.stack = [{}]
    return _local.stack


def _key(function):
    function = getattr(function, "_key_op", function)
    return "{}.{}".format(function.__module__, function.__qualname__) if not isinstance(function, tuple) else function


def add_arg_scope(func):
    """Declare that a function takes defaults from arg_scope."""
    key = _key(func)
    _declared.add(key)

    @functools.wraps(func)
    def with_defaults(*args, **kwargs):
        defaults = _stack()[-1].get(key)
        return func(*args, **dict(defaults, **kwargs) if defaults else kwargs)

    with_defaults._key_op = func
    return with_defaults


@contextlib.contextmanager
def _scope(list_ops_or_scope, kwargs):
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope = dict(list_ops_or_scope)
    else:
        scope = dict(_stack()[-1])
        for function in list_ops_or_scope:
            key = _key(function)
            if key not in _declared:
                raise ValueError("{} is not decorated with @add_arg_scope".format(key))
            scope[key] = dict(scope.get(key, {}), **kwargs)
    _stack().append(scope)
    try:
        yield scope
    finally:
        _stack().pop()


def arg_scope(list_ops_or_scope, **kwargs):
    """In the block, give each function of the list these defaults; or take up a scope that was yielded before."""
    return _scope(list_ops_or_scope, kwargs)


def has_arg_scope(func):
    """Whether a function was declared."""
    return _key(func) in _declared


def arg_scoped_arguments(func):
    """The names of its arguments that have defaults."""
    function = getattr(func, "_key_op", func)
    return function.__code__.co_varnames[-len(function.__defaults__ or ()):function.__code__.co_argcount]


def arg_scope_func_key(op):
    """The key of a function in a scope."""
    return _key(op)


def current_arg_scope():
    """The scope that holds now."""
    return _stack()[-1]
