"""The methods that the command line offers, by name, and how each is built from its options."""
from . import cam, covering, gradients, integrated, relevance, sampled


def _plain(build):
    return lambda y, x, target, options: build(y, x, target)


def _sampled(build):
    return lambda y, x, target, options: build(y, x, target, samples=options.samples or 25, spread=options.spread,
                                               seed=options.seed)


def _cam(build):
    return lambda y, x, target, options: build(y, x, target, layer=options.layer)


def _integrated(y, x, target, options):
    return integrated.IntegratedGradients(y, x, target, baseline=options.baseline, steps=options.steps)


def _expected(y, x, target, options):
    return integrated.ExpectedGradients(y, x, options.background, target, samples=options.samples or 200,
                                        seed=options.seed)


def _deeplift(y, x, target, options):
    return relevance.DeepLift(y, x, target, baseline=options.baseline)


def _occlusion(y, x, target, options):
    return covering.Occlusion(y, x, target, window=options.window, stride=options.stride, value=options.baseline)


#: Names on the command line, and how each method is built from the options.
METHODS = {
    "gradient": _plain(gradients.Gradient),
    "gradient_times_input": _plain(gradients.GradientTimesInput),
    "guided_backprop": _plain(gradients.guided_backprop),
    "deconvnet": _plain(gradients.deconvnet),
    "rectgrad": _plain(relevance.rectgrad),
    "smoothgrad": _sampled(sampled.SmoothGrad),
    "smoothgrad_squared": _sampled(sampled.SmoothGradSquared),
    "vargrad": _sampled(sampled.VarGrad),
    "integrated_gradients": _integrated,
    "expected_gradients": _expected,
    "lrp_epsilon": _plain(relevance.lrp_epsilon),
    "lrp_epsilon_gradient": _plain(relevance.lrp_epsilon_gradient),
    "deeplift": _deeplift,
    "grad_cam": _cam(cam.GradCam),
    "grad_cam_plus_plus": _cam(cam.GradCamPlusPlus),
    "guided_grad_cam": _cam(cam.GuidedGradCam),
    "occlusion": _occlusion,
}
