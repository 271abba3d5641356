"""Where a function comes from: its readable name, its place, and when two functions are one."""
import functools
import inspect
import os
import sys

_ATOMS = (int, float, complex, bool, str, bytes, type(None))


def source_name(function):
    """A readable name that is the same in every process: module and qualified name, or a rule's own."""
    given = getattr(function, "__gradient_name__", None)
    if given:
        return given
    bare = plain_function(function)
    module = getattr(bare, "__module__", None) or type(function).__module__
    if module == "__main__":
        module = _main_module()
    qualname = getattr(bare, "__qualname__", None) or type(function).__qualname__
    name = "{}.{}".format(module, qualname.replace(".<locals>", ""))
    if "<lambda>" in qualname:
        name = name.replace("<lambda>", "lambda") + "@{}".format(bare.__code__.co_firstlineno)
    return name


def _main_module():
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return spec.name[:-len(".__main__")] if spec.name.endswith(".__main__") else spec.name
    path = getattr(main, "__file__", None)
    return os.path.splitext(os.path.basename(path))[0] if path else "__main__"


def place_of(function):
    """``"file:line"`` where a function was defined, or what it is if it has no source."""
    code = getattr(plain_function(function), "__code__", None)
    if code is None:
        return "built in" if inspect.isbuiltin(function) else type(function).__name__
    return "{}:{}".format(code.co_filename, code.co_firstlineno)


def label(function):
    """What to call a function in a message."""
    plain = plain_function(function)
    return getattr(plain, "__qualname__", None) or getattr(plain, "__name__", None) or repr(function)   # a ufunc


def plain_function(function):
    """The plain function inside partials, bound methods and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__") and not inspect.isclass(function):
        call = getattr(type(function), "__call__", None)  # noqa: B004 (its code is wanted, not whether it is there)
        function = call if hasattr(call, "__code__") else function
    return inspect.unwrap(function) if hasattr(function, "__code__") else function


def is_made_by_a_call(function):
    """Whether a function is one of many from the same source: a closure, lambda, bound method or partial."""
    if inspect.isfunction(function):
        return "<" in function.__qualname__
    return not inspect.isbuiltin(function)


def same_function(one, other):
    """Whether two functions do the same: one object, or the same code over the same closed-over values."""
    if one is other:
        return True
    if not (inspect.isfunction(one) and inspect.isfunction(other)):
        return inspect.ismethod(one) and inspect.ismethod(other) and (
            one.__self__ is other.__self__ and one.__func__ is other.__func__)
    return (one.__code__ == other.__code__ and one.__code__.co_filename == other.__code__.co_filename
            and one.__globals__ is other.__globals__
            and _same_values(_bound_values(one), _bound_values(other))
            and _same_values([getattr(one, "surrogate", None)], [getattr(other, "surrogate", None)]))


def is_redefinition(old, new):
    """Whether ``new`` stands where ``old`` stood: same qualified name, same module or file, no closure.

    Two closures made by one line of code are two functions, not a redefinition of each other.
    """
    old, new = plain_function(old), plain_function(new)
    if not (inspect.isfunction(old) and inspect.isfunction(new)) or old.__qualname__ != new.__qualname__:
        return False
    if old.__code__ == new.__code__ and not _same_values(_bound_values(old), _bound_values(new)):
        return False
    return old.__module__ == new.__module__ or old.__code__.co_filename == new.__code__.co_filename


def _bound_values(function):
    """The closed-over values and the defaults of a function: what sets two of one source apart."""
    values = list(function.__defaults__ or ()) + sorted((function.__kwdefaults__ or {}).items())
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:   # not assigned yet
            values.append(None)
    return values


def _same_values(one, other):
    if len(one) != len(other):
        return False
    for a, b in zip(one, other):
        if a is b:
            continue
        if isinstance(a, (tuple, list)) and type(a) is type(b):
            if not _same_values(a, b):
                return False
        elif inspect.isfunction(a) and inspect.isfunction(b):
            if not same_function(a, b):
                return False
        # 0.0 == -0.0 and 1 == True, which are not the same parameter: compare how they are written.
        elif not (type(a) is type(b) and isinstance(a, _ATOMS) and repr(a) == repr(b)):
            return False
    return True
