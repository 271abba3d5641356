"""Maps of the digits model: those recorded on TF 1.15.5, and those of the public originals (record_*.py)."""
import json
import os

import numpy as np
import pytest
from _digits import BIASES, assert_close, import_digits, recorded

import graphgrad as gg

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
ORIGINALS = np.load(os.path.join(RECORDED, "originals.npz"))
SHAP = np.load(os.path.join(RECORDED, "shap.npz"))
DEEPEXPLAIN = np.load(os.path.join(RECORDED, "deepexplain.npz"))
INNVESTIGATE = {number: np.load(os.path.join(RECORDED, "innvestigate_{}.npz".format(number))) for number in (1, 2)}
CLASSES = ORIGINALS["classes"]
COVERS = np.array([1, 2, 3, 3, 3, 3, 2, 1])   # windows of 3, by 1, over each of 8 places


@pytest.fixture(scope="module")
def digits():
    return import_digits()


def test_provenance():
    """The numbers say what computed them."""
    assert json.loads(ORIGINALS["provenance"].tobytes().decode()) == {
        "numpy": "1.26.4", "saliency": "0.2.1", "tensorflow": "2.15.1", "tf-keras-vis": "0.8.7"}
    assert json.loads(DEEPEXPLAIN["provenance"].tobytes().decode()) == {
        "DeepExplain": "87fb43a", "numpy": "1.18.5", "tensorflow": "1.15.5"}
    assert json.loads(INNVESTIGATE[1]["provenance"].tobytes().decode()) == {
        "innvestigate": "1.0.9", "keras": "2.2.4", "numpy": "1.18.5", "tensorflow": "1.15.5"}
    assert json.loads(INNVESTIGATE[2]["provenance"].tobytes().decode()) == {
        "innvestigate": "2.1.2", "keras": "2.14.0", "numpy": "1.26.4", "tensorflow": "2.14.1"}
    assert json.loads(SHAP["provenance"].tobytes().decode()) == {"numpy": "1.26.4", "shap": "0.46.0", "tensorflow": "2.15.1"}


@pytest.mark.parametrize("method, number", [("gradient", 1), ("guided_backprop", 2)])
@pytest.mark.parametrize("max_batch", [32, 3])
def test_as_recorded_on_tensorflow_1(digits, method, number, max_batch):
    """The foundation's example: ten digits, the class that the network chose."""
    session, y, x = digits
    old = recorded()
    assert_close(getattr(gg.saliency, method)(y, x, target="top")(session, old[0], max_batch=max_batch), old[number])


@pytest.mark.parametrize("original, method, arguments", [
    ("pair/gradient", "gradient", {}),
    ("pair/guided_backprop", "guided_backprop", {}),
    ("pair/smoothgrad", "smoothgrad", {}),
    ("pair/smoothgrad_squared", "smoothgrad_squared", {}),
    ("pair/integrated_gradients", "integrated_gradients", {"steps": 25, "rule": "ends"}),
    ("pair/grad_cam", "grad_cam", {"upsample": False}),
    ("pair/occlusion", "occlusion", {"window": 3, "stride": 1}),
    ("tf_keras_vis/gradient", "gradient", {}),
    ("tf_keras_vis/guided_backprop", "guided_backprop", {}),
    ("tf_keras_vis/grad_cam", "grad_cam", {"upsample": False}),
    ("tf_keras_vis/grad_cam_plus_plus", "grad_cam_plus_plus", {"upsample": False, "normalized": True}),
])
def test_as_the_original(digits, original, method, arguments):
    """The numbers of PAIR's saliency and of tf-keras-vis, for classes given one per image."""
    session, y, x = digits
    maps = getattr(gg.saliency, method)(y, x, target="top", **arguments)(session, ORIGINALS["images"], classes=CLASSES)
    want = ORIGINALS[original]
    if original == "pair/occlusion":
        want = want / (COVERS[:, None] * COVERS)[None, :, :, None]    # a sum over windows; ours is the mean
    if original == "tf_keras_vis/grad_cam_plus_plus":
        want = want / np.exp(ORIGINALS["tf_keras_vis/scores"].astype(np.float64))[:, None, None]   # see the docstring
    if original.startswith("pair/smoothgrad"):
        # PAIR sums float64 noise up in float32; an image's noise is that of its number.
        np.testing.assert_allclose(maps, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
    else:
        assert_close(maps, want)


@pytest.mark.parametrize("original, method, arguments", [
    ("grad*input", "gradient_times_input", {}), ("elrp", "lrp_epsilon_gradient", {"epsilon": 1e-4}),
    ("intgrad", "integrated_gradients", {"steps": 50, "rule": "right"}), ("deeplift", "deeplift", {})])
def test_as_deepexplain(digits, original, method, arguments):
    """The numbers of DeepExplain on TF 1.15.5; DeepLIFT's from the flattened features on, a tensor inside the graph."""
    session, y, x = digits
    images = DEEPEXPLAIN["images"]
    if original == "deeplift":
        x, images = session.graph.get_tensor_by_name("Reshape:0"), DEEPEXPLAIN["features"]
    maps = getattr(gg.saliency, method)(y, x, target="top", **arguments)(session, images, classes=DEEPEXPLAIN["classes"])
    want = DEEPEXPLAIN["deepexplain/" + original]
    # LRP divides by activations near zero, where the last bits of a convolution matter.
    np.testing.assert_allclose(maps, want, rtol=1e-5, atol=5e-6 * np.abs(want).max())


def test_as_shap(digits):
    """The numbers of SHAP's DeepExplainer with one black image as background: DeepLIFT through max-pools too."""
    session, y, x = digits
    assert_close(gg.saliency.deeplift(y, x, target="top")(session, SHAP["images"], classes=SHAP["classes"]), SHAP["deep"])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("original, method, arguments", [
    ("gradient", "gradient", {}), ("input_t_gradient", "gradient_times_input", {}),
    ("guided_backprop", "guided_backprop", {}), ("deconvnet", "deconvnet", {}), ("smoothgrad", "smoothgrad", {}),
    ("integrated_gradients", "integrated_gradients", {"steps": 50, "rule": "left"}),
    ("lrp.z", "lrp", {"rule": "z"}), ("lrp.epsilon", "lrp_epsilon", {"epsilon": 1e-4}), ("lrp.flat", "lrp", {"rule": "flat"}),
    ("lrp.w_square", "lrp", {"rule": "w_square"}),
    ("lrp.z_plus", "lrp", {"rule": "excitation"}), ("deep_taylor", "lrp", {"rule": "excitation"}),     # without biases
    ("lrp.alpha_2_beta_1", "lrp", {"rule": "alpha_beta", "alpha": 2.0, "beta": 1.0})])
def test_as_innvestigate(digits, version, original, method, arguments):
    """The numbers of iNNvestigate on TF 1.15.5 and 2.14.1; alpha-beta of the model without its biases, see the rule."""
    session, y, x = import_digits(empty=BIASES) if original == "lrp.alpha_2_beta_1" else digits
    images, classes = INNVESTIGATE[version]["images"], INNVESTIGATE[version]["classes"]
    maps = getattr(gg.saliency, method)(y, x, target="top", **arguments)(session, images, classes=classes)
    if method in ("guided_backprop", "deconvnet"):    # of the square of the score, as it were: it starts with the score
        maps = maps * session.run(y, {x: images})[np.arange(3), classes][:, None, None, None]
    assert_close(maps, INNVESTIGATE[version][original])
