"""Override gradients in TensorFlow graphs, and prove that the override took.

The names below are handed on from their modules the first time they are used, so that importing
graphgrad imports neither TensorFlow nor anything else, and changes nothing in them.
"""
import importlib

__version__ = "0.1.0"

_MODULES = ("errors", "golden", "legacy", "ops", "presets", "registry", "rules", "saliency")
_HOME = {
    "register_gradient": "registry",
    "original_gradient": "registry",
    "declare_surrogate": "registry",
    "override_gradients": "overrides",
    "Override": "overrides",
    "py_func_with_grad": "functions",
    "tf_func_with_grad": "functions",
    "diagnose": "legacy.diagnosis",
    "check_gradient": "checks",
    "load_op_library": "op_libraries",
    "build_op_library": "op_libraries",
    "guided_backprop": "presets",
    "deconvnet": "presets",
    "straight_through": "presets",
    "assert_matches": "golden.files",
    "rectgrad": "presets",
    "redirected": "presets",
    "smoothed_max_pool": "presets",
    "lrp": "presets",
    "deeplift": "presets",
    "GraphGradError": "errors",
    "RegistrationError": "errors",
    "OverrideError": "errors",
    "GradientError": "errors",
    "ForwardError": "errors",
    "CheckError": "errors",
    "ResultFileError": "errors",
    "SaliencyError": "errors",
    "OpLibraryError": "errors",
    "OverrideWarning": "errors",
}

__all__ = sorted(_HOME) + list(_MODULES)


def __getattr__(name):
    if name in _HOME:
        value = getattr(importlib.import_module("graphgrad." + _HOME[name]), name)
    elif name in _MODULES:
        value = importlib.import_module("graphgrad." + name)
    else:
        raise AttributeError("module 'graphgrad' has no attribute {!r}".format(name))
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
