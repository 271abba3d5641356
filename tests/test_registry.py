"""Gradient names: lasting, readable, deterministic (design 4.10)."""
import random

import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg
from graphgrad.registry import gradients


def rule(op, grad):
    return 2.0 * grad


def unnamed(op, grad):
    return grad


def make(factor):
    def scaled(op, grad):
        return factor * grad
    return scaled


def test_4_10_the_same_function_again_is_quiet():
    """A cell run again, a module imported twice."""
    assert gg.register_gradient("test_registry.same")(rule) is rule
    gg.register_gradient("test_registry.same")(rule)
    assert gradients["test_registry.same"].function is rule


def test_4_10_another_function_under_a_taken_name_is_an_error_with_both_places():
    """Both files and lines are in the message; the first stays."""
    gg.register_gradient("test_registry.taken")(rule)

    def other(op, grad):
        return grad

    with pytest.raises(gg.RegistrationError, match="'test_registry.taken' is taken by rule \\(.*test_registry.py:{}\\), so "
                       ".*other \\(.*test_registry.py:{}\\)".format(rule.__code__.co_firstlineno, other.__code__.co_firstlineno)):
        gg.register_gradient("test_registry.taken")(other)
    assert gradients["test_registry.taken"].function is rule


def test_4_10_a_name_of_tensorflows_is_refused_with_the_way_out():
    """The seeds' @tf.RegisterGradient("Square") raises KeyError blaming TensorFlow's registry; here is what to do."""
    with pytest.raises(gg.RegistrationError, match="TensorFlow has a gradient named 'Square' already.*"
                       "override_gradients\\({'Square': rule}\\)"):
        gg.register_gradient("Square")(rule)


def test_4_10_a_redefinition_holds_for_what_is_built_from_then_on(graph, run):
    """A notebook cell edited and run again: new operations get the new function, old ones keep the old."""
    x = tf.constant([1.0])
    results = []
    for factor in ("2.0", "3.0"):
        cell = {"gg": gg, "__name__": "notebook"}
        exec("@gg.register_gradient('test_registry.cell')\ndef cell_rule(op, grad):\n    return {} * grad".format(factor), cell)
        with gg.override_gradients({"Relu": "test_registry.cell"}):
            results.append(tf.nn.relu(x))
    assert [run(tf.gradients(y, x)[0]).tolist() for y in results] == [[2.0], [3.0]]


def test_4_10_a_redefinition_and_a_loop_body(control_flow, graph, run):
    """The body keeps the old function; TensorFlow 1.15, which finds gradients in v2 bodies by name, is refused."""
    x = tf.constant([1.0])

    def cell(factor):
        names = {"gg": gg, "__name__": "notebook"}
        name = "test_registry.body{}".format(control_flow)
        exec("@gg.register_gradient({!r})\ndef cell_rule(op, grad):\n    return {} * grad".format(name, factor), names)
        return name

    with gg.override_gradients({"Relu": cell(2.0)}):
        y = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, tf.nn.relu(y)), [0, x])[1]
    cell(3.0)
    if TF1 and control_flow == 2:
        with pytest.raises(gg.RegistrationError, match="was redefined in this process.*Give the new definition a name"):
            tf.gradients(y, x)
    else:
        assert run(tf.gradients(y, x)[0]).tolist() == [2.0]


def test_4_10_closures_of_one_source_under_one_name_are_an_error():
    """Two values, one name: a saved graph could not tell them apart."""
    gg.register_gradient("test_registry.closure")(make(1.0))
    gg.register_gradient("test_registry.closure")(make(1.0))
    with pytest.raises(gg.RegistrationError, match="one function with different closed-over values"):
        gg.register_gradient("test_registry.closure")(make(2.0))


def test_4_10_names_come_from_the_source():
    """Module and qualified name; rules with parameters say them."""
    gg.register_gradient(unnamed)
    assert "test_registry.unnamed" in gradients
    override = gg.override_gradients({"Identity": gg.rules.scale(0.25), "Relu": gg.rules.guided})
    assert override.gradients == {"Identity": "graphgrad.scale(factor=0.25)", "Relu": "graphgrad.guided"}


@pytest.mark.parametrize("name", ["", " padded "])
def test_4_10_bad_names(name):
    """Empty, or with blanks around it."""
    with pytest.raises(gg.RegistrationError, match="non-empty string"):
        gg.register_gradient(name)(rule)


def test_4_10_what_cannot_be_called_is_refused():
    """Not a function."""
    with pytest.raises(TypeError, match="must be callable as fn\\(op, \\*grads\\), but got 3"):
        gg.register_gradient("test_registry.three")(3)


def test_4_10_the_registry_reads_like_a_container():
    """in, iter, len, repr and typed look-ups."""
    gg.register_gradient("test_registry.container")(rule)
    assert "test_registry.container" in gradients and "test_registry.container" in list(gradients)
    assert len(gradients) == len(list(gradients)) and "test_registry.container" in repr(gradients)
    with pytest.raises(gg.RegistrationError, match="No gradient named 'test_registry.contaner'.*test_registry.container"):
        gradients["test_registry.contaner"]


def test_4_10_no_random_state_is_touched(graph):
    """Neither NumPy's nor Python's: seeded scripts compute the same with graphgrad in them."""
    np.random.seed(7)
    random.seed(7)
    before = np.random.get_state()[1].tolist(), random.getstate()
    x = tf.constant([1.0])
    with gg.override_gradients({"Relu": lambda op, grad: grad}):
        y = tf.nn.relu(x)
    tf.gradients(gg.py_func_with_grad(np.abs, [y], tf.float32, grad=lambda op, grad: grad), x)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before


def test_another_surrogate_makes_another_rule():
    """A cell run again with another surrogate over the same code: the new one is what check_gradient holds it to."""
    def made(surrogate):
        rule = lambda op, grad: grad   # noqa: E731 (the same code twice)
        return gg.declare_surrogate(surrogate)(rule)

    for surrogate, right in ((lambda op, x: x, True), (lambda op, x: 2.0 * x, False), (lambda op, x: x + 1.0, True)):
        override = gg.override_gradients({"Sign": made(surrogate)})
        if right:
            gg.check_gradient(tf.sign, np.array([0.5, -2.0]), override=override)
        else:
            with pytest.raises(gg.CheckError):
                gg.check_gradient(tf.sign, np.array([0.5, -2.0]), override=override)
