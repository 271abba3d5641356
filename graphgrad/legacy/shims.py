"""Names that old gradient code imports and today's TensorFlow spells otherwise, one entry each."""
import importlib


class Shim:
    """A name that is gone.

    Attributes:
        module: where old code looks for it.
        name: what it was called.
        now: what it is called today, in the same module.
        gone: the first TensorFlow without the old name.
    """

    def __init__(self, module, name, now, gone):
        self.module = module
        self.name = name
        self.now = now
        self.gone = gone

    def install(self):
        """Put the old name where old code looks for it; returns a function that takes it away, or None."""
        module = importlib.import_module(self.module)
        if hasattr(module, self.name) or not hasattr(module, self.now):
            return None
        setattr(module, self.name, getattr(module, self.now))
        return lambda: delattr(module, self.name)


_NN, _MATH = "tensorflow.python.ops.gen_nn_ops", "tensorflow.python.ops.gen_math_ops"

#: Up to TF 1.4 the generated gradient operations had a leading underscore, and only that.
SHIMS = [Shim(_NN, "_" + name, name, "1.15") for name in (
    "relu_grad", "relu6_grad", "elu_grad", "selu_grad", "softplus_grad", "softsign_grad", "max_pool_grad",
    "avg_pool_grad", "lrn_grad")] + [Shim(_MATH, "_" + name, name, "1.15") for name in (
        "sigmoid_grad", "tanh_grad", "sqrt_grad", "rsqrt_grad")]
