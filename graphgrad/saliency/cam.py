"""Grad-CAM and its relatives: where in a layer of features the class is, laid over the input."""
from typing import Any, Optional

import numpy as np

from .. import presets
from .._types import Tensor
from ..errors import SaliencyError
from ..overrides import Override
from .endpoints import tensor_named
from .method import Job, Method
from .path import Path
from .resize import resize

_CONVOLUTIONS = frozenset(("Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv"))
#: What follows a convolution and still belongs to its layer.
_FOLLOWERS = frozenset((
    "BiasAdd", "BiasAddV1", "Add", "AddV2", "Sub", "Mul", "Identity", "FusedBatchNorm", "FusedBatchNormV2", "Squeeze",
    "FusedBatchNormV3", "Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Tanh", "Sigmoid", "ExpandDims"))


class GradCam(Method):
    """Grad-CAM: the features of a layer, weighted by the mean gradient of each channel, of that the positive part.

    Source: Selvaraju, Cogswell, Das, Vedantam, Parikh, Batra 2016, arXiv:1610.02391.

    Args:
        y, x, target, override: as of Method.
        layer: a tensor between x and y with a batch, one or more spatial axes and channels, or its name; None: the
            output of the last convolution on the path, with its bias, normalisation and activation.
        channels_first: whether the layer is [batch, channels, ...]; None: as its convolution says.
        upsample: whether to resize the map to the spatial axes of x, linearly; else it has the layer's.

    Attributes:
        layer: the layer.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, layer: Any = None,
                 channels_first: Optional[bool] = None, upsample: bool = True,
                 override: Optional[Override] = None) -> None:
        self._wanted = layer
        self._channels_first = channels_first
        self.upsample = upsample
        super().__init__(y, x, target, override)

    def goes_through(self):
        self.layer = self._find_layer()
        return Path(self.scores, self.layer)

    def build(self):
        if self._channels_first is None:
            self._channels_first = _is_channels_first(self.layer)
        return [self.layer] + self.differentiate(self.layer)

    def _find_layer(self):
        layer = self._wanted
        if layer is None:
            return _last_convolution(self.path)
        if isinstance(layer, str):
            layer = tensor_named(self.graph, layer)
        if layer.op not in self.path.operations:
            raise SaliencyError("The layer {!r} is not between {!r} and {!r}.".format(
                layer.name, self.x.name, self.scores.name))
        if (layer.shape.ndims or 0) < 3:
            raise SaliencyError("The layer must be [batch, ..., channels] with a spatial axis, but {!r} is {}.".format(
                layer.name, layer.shape))
        return layer

    def job(self, image, number):
        return Job(image, self.finish)

    def finish(self, image, features, gradients):
        if self._channels_first:
            features, gradients = np.moveaxis(features, 0, -1), np.moveaxis(gradients, 0, -1)
        cam = self.combine(features.astype(np.float64), gradients.astype(np.float64))
        return resize(cam, self._spatial(image, cam)) if self.upsample else cam

    def _spatial(self, image, cam):
        """The axes of an example that correspond to those of the layer: x has its channels where the layer has."""
        shape = image.shape[1:] if self._channels_first and image.ndim > cam.ndim else image.shape
        if len(shape) < cam.ndim:
            raise SaliencyError("A map of {} cannot be laid over examples of shape {}: give upsample=False.".format(
                list(cam.shape), list(image.shape)))
        return shape[:cam.ndim]

    def combine(self, features, gradients):
        """The map [spatial...] from features and gradients [spatial..., channels]."""
        weights = gradients.reshape(-1, gradients.shape[-1]).mean(0)
        return np.maximum(features.dot(weights), 0)


class GradCamPlusPlus(GradCam):
    """Grad-CAM++: each place of each channel has a weight of its own, from second and third derivatives of exp(score).

    ``w = sum a * max(g, 0)`` with ``a = g**2 / (2 * g**2 + sum(A) * g**3)``, 0 where g is; the factor exp(score)
    that the paper has in g, one number per example, is left out: it overflows, and scales the whole map.

    Source: Chattopadhay, Sarkar, Howlader, Balasubramanian 2017, arXiv:1710.11063, equation 19.

    Args:
        y, x, target, layer, channels_first, upsample, override: as of GradCam.
        normalized: whether the a of each channel are divided by their sum, as the authors' code and
            tf-keras-vis do, and the paper does not.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, layer: Any = None,
                 channels_first: Optional[bool] = None, upsample: bool = True, normalized: bool = False,
                 override: Optional[Override] = None) -> None:
        self.normalized = normalized
        super().__init__(y, x, target, layer, channels_first, upsample, override)

    def combine(self, features, gradients):
        spatial = tuple(range(features.ndim - 1))
        below = 2 * gradients ** 2 + features.sum(spatial) * gradients ** 3
        share = np.divide(gradients ** 2, below, out=np.zeros_like(gradients), where=(gradients != 0) & (below != 0))
        if self.normalized:
            total = share.sum(spatial)
            share = share / np.where(total == 0, 1, total)
        weights = (share * np.maximum(gradients, 0)).sum(spatial)
        return np.maximum(features.dot(weights), 0)


class GuidedGradCam(GradCam):
    """Guided Grad-CAM: guided backprop times Grad-CAM laid over the input. Of the examples' shape.

    Grad-CAM's own gradients are the ordinary ones. Source and arguments: as of GradCam, without upsample.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, layer: Any = None,
                 channels_first: Optional[bool] = None) -> None:
        super().__init__(y, x, target, layer, channels_first, True, override=presets.guided_backprop())

    def goes_through(self):
        super().goes_through()
        return self.path

    def build(self):
        guided = self.differentiate(self.x)
        override, self.override = self.override, None
        try:
            return super().build() + guided
        finally:
            self.override = override

    def finish(self, image, features, gradients, guided):
        cam = super().finish(image, features, gradients)
        if guided.ndim > cam.ndim:
            cam = cam[None] if self._channels_first else cam[..., None]
        return guided * cam


def _last_convolution(path):
    operations = path.in_order()
    convolutions = [op for op in operations if op.type in _CONVOLUTIONS]
    if not convolutions:
        spatial = [op.outputs[0].name for op in operations if op.outputs and (op.outputs[0].shape.ndims or 0) >= 3]
        raise SaliencyError("There is no convolution between {!r} and {!r} to take as the layer: give layer=.{}".format(
            path.x.name, path.y.name, " Those with spatial axes end with " + ", ".join(spatial[-3:]) + "."
            if spatial else ""))
    tensor = convolutions[-1].outputs[0]
    while True:
        following = [op for op in tensor.consumers() if op in path.operations]
        if len(following) != 1 or following[0].type not in _FOLLOWERS:
            return tensor
        if len([t for t in following[0].inputs if t.op in path.operations]) > 1:
            return tensor   # a sum of branches is a layer of its own
        tensor = following[0].outputs[0]


def _is_channels_first(layer):
    """What the convolution, pooling or bias nearest before the layer says, through operations that say nothing."""
    op = layer.op
    for _ in range(8):
        try:
            return op.get_attr("data_format").decode().startswith("NC")
        except (ValueError, AttributeError):
            floating = [tensor.op for tensor in op.inputs if (tensor.shape.ndims or 0) >= 3]
            if not floating:
                break
            op = floating[0]
    return False
