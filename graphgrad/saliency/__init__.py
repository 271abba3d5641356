"""Saliency maps from the model you already have: ``gg.saliency.guided_backprop(y, x)(session, images)``.

Each method is built once for a tensor y and a tensor x of a graph, and run as often as you like; see ``Method``.
"""
from .cam import GradCam as grad_cam
from .cam import GradCamPlusPlus as grad_cam_plus_plus
from .cam import GuidedGradCam as guided_grad_cam
from .covering import Occlusion as occlusion
from .gradients import Gradient as gradient
from .gradients import GradientTimesInput as gradient_times_input
from .gradients import deconvnet, guided_backprop
from .integrated import ExpectedGradients as expected_gradients
from .integrated import IntegratedGradients as integrated_gradients
from .method import Method
from .models import Model, load
from .relevance import DeepLift as deeplift
from .relevance import Relevance as lrp
from .relevance import lrp_epsilon, lrp_epsilon_gradient, rectgrad
from .sampled import SmoothGrad as smoothgrad
from .sampled import SmoothGradSquared as smoothgrad_squared
from .sampled import VarGrad as vargrad

__all__ = [
    "Method", "Model", "load",
    "gradient", "gradient_times_input", "guided_backprop", "deconvnet", "rectgrad",
    "smoothgrad", "smoothgrad_squared", "vargrad",
    "integrated_gradients", "expected_gradients",
    "lrp", "lrp_epsilon", "lrp_epsilon_gradient", "deeplift",
    "grad_cam", "grad_cam_plus_plus", "guided_grad_cam",
    "occlusion",
]
