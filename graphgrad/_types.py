"""The words of the type annotations.

TensorFlow ships no types, and numpy none where TensorFlow is old, so what is theirs is Any to a type checker; the
names say what it is.
"""
from typing import Any, Callable, Dict, Mapping, TypeVar, Union

Tensor = Any        # tf.Tensor
TensorLike = Any    # what tf.convert_to_tensor takes: a tensor, a variable, an array, a number, lists of them
OneOrMore = Any     # one of what is meant, or a list of them
Operation = Any     # tf.Operation
Graph = Any         # tf.Graph
Session = Any       # tf.compat.v1.Session
Array = Any         # numpy.ndarray

GradientFunction = Callable[..., Any]                        # fn(op, *grads) -> one gradient per input
Gradient = Union[GradientFunction, str, None]                # or its name, an op type whose gradient to use, or none
Gradients = Dict[str, Any]                                   # {op type: Gradient}; of Any, for dicts are invariant
Feed = Mapping[Any, Any]                                     # a feed_dict
ToleranceMap = Mapping[str, Any]                             # {name, pattern or dtype: (relative, normwise)}
Function = TypeVar("Function", bound=Callable[..., Any])     # what a decorator returns as it came
