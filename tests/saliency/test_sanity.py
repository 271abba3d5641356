"""Adebayo et al. 2018 (arXiv:1810.03292): randomise the weights, and the map must change."""
import numpy as np
import pytest
from _digits import import_digits, recorded

import graphgrad as gg

LAYERS = ["dense2", "dense1", "conv2", "conv1"]    # from the top down


@pytest.fixture(scope="module")
def models():
    """The shipped model as it is, with its last layer redrawn, and with all of them."""
    return [import_digits(randomize=LAYERS[:number]) for number in (0, 1, 4)]


def alikeness(method, models, arguments):
    """Spearman correlation of the maps of the trained model with those of each other one, the mean over ten digits."""
    images = recorded()[0]
    ranks = []
    for session, y, x in models:
        maps = getattr(gg.saliency, method)(y, x, target="top", **arguments)(session, images, classes=range(10))
        ranks.append(np.argsort(np.argsort(maps.reshape(10, -1), axis=1), axis=1))
    return [np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(ranks[0], other)]) for other in ranks[1:]]


@pytest.mark.parametrize("method, arguments", [
    ("gradient", {}), ("gradient_times_input", {}), ("smoothgrad", {}), ("smoothgrad_squared", {}),
    ("integrated_gradients", {"steps": 20}), ("lrp_epsilon", {}), ("deeplift", {}), ("grad_cam", {}),
    ("guided_grad_cam", {}), ("occlusion", {})])
def test_maps_that_depend_on_the_weights(models, method, arguments):
    """Ranked by value, the maps have little in common once weights are redrawn."""
    for value in alikeness(method, models, arguments):
        assert abs(value) < 0.5


@pytest.mark.parametrize("method", ["guided_backprop"])
def test_maps_that_do_not(models, method):
    """Guided backprop hardly changes when the last layer, or all of them, are random: what README warns of."""
    for value in alikeness(method, models, {}):
        assert value > 0.6
