"""Maps that are one gradient at the example: plain, times the input, or with an override on the way."""
from typing import Any

from .. import presets
from .._types import Tensor
from .method import Job, Method


class Gradient(Method):
    """The gradient of the score with respect to x.

    Source: Simonyan, Vedaldi, Zisserman 2013, arXiv:1312.6034. With ``override`` it is whatever gradient
    the override makes it: ``gradient(y, x, override=override_gradients({"Relu": my_rule}))``.
    """

    def build(self):
        return self.differentiate(self.x)

    def job(self, image, number):
        return Job(image, self.finish)

    def finish(self, image, gradient):
        """The map, from the example and its gradient."""
        return gradient


class GradientTimesInput(Gradient):
    """The gradient times x.

    Source: Shrikumar, Greenside, Shcherbina, Kundaje 2016, arXiv:1605.01713. For a network of ReLUs without biases
    it sums to the score.
    """

    def finish(self, image, gradient):
        return gradient * image


def guided_backprop(y: Tensor, x: Tensor, target: Any = None) -> Gradient:
    """Guided backprop: at each rectifier, only what is positive in the gradient passes, where the rectifier is open.

    For Relu, Relu6, LeakyRelu, Elu, Selu, Softplus and Softsign (``presets.guided_backprop``).
    It shows edges of the image more than the class: its maps hardly change when the weights are randomised.

    Source: Springenberg, Dosovitskiy, Brox, Riedmiller 2014, arXiv:1412.6806. The caution: Adebayo, Gilmer, Muelly,
    Goodfellow, Hardt, Kim 2018, arXiv:1810.03292.

    Returns:
        A Method; arguments as for it.
    """
    return Gradient(y, x, target, override=presets.guided_backprop())


def deconvnet(y: Tensor, x: Tensor, target: Any = None) -> Gradient:
    """Deconvnet: at each rectifier, only what is positive in the gradient passes, whatever its input was.

    Source: Zeiler, Fergus 2013, arXiv:1311.2901. The caution of ``guided_backprop`` holds for it too.

    Returns:
        A Method; arguments as for it.
    """
    return Gradient(y, x, target, override=presets.deconvnet())
