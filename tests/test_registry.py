"""Gradient names: lasting, readable, deterministic (design 4.10)."""
import functools
import random
import sys
import types

import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg
from graphgrad.registry import gradients
from graphgrad.sources import same_function, source_name


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
    assert gg.register_gradient(unnamed) is unnamed
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


def test_a_redefined_function_without_a_name_takes_over(graph, run):
    """A module reloaded: its function is found under the same name, and new operations get the new one."""
    x, results, names = tf.constant([1.0]), [], []
    for factor in ("2.0", "3.0"):
        module = {"gg": gg, "__name__": "test_registry_reloaded"}
        exec("def reloaded(op, grad):\n    return {} * grad".format(factor), module)
        override = gg.override_gradients({"Relu": module["reloaded"]})
        names.append(override.gradients["Relu"])
        with override:
            results.append(tf.nn.relu(x))
    assert names == ["test_registry_reloaded.reloaded"] * 2
    assert [run(tf.gradients(y, x)[0]).tolist() for y in results] == [[2.0], [3.0]]


def test_a_record_says_what_it_is():
    """Name, file and line."""
    gg.register_gradient("test_registry.shown")(rule)
    assert repr(gradients["test_registry.shown"]) == "GradientRecord('test_registry.shown', {}:{})".format(
        __file__, rule.__code__.co_firstlineno)


def test_a_dropped_name_is_free_and_what_was_built_keeps_its_function(graph, run):
    """What is built before keeps the old function; another function may then have the name."""
    name, x = "test_registry.dropped", tf.constant([1.0])
    gg.register_gradient(name)(rule)
    with gg.override_gradients({"Relu": name}):
        old = tf.nn.relu(x)
    gradients.drop(name)
    assert name not in gradients
    gg.register_gradient(name)(unnamed)
    with gg.override_gradients({"Relu": name}):
        new = tf.nn.relu(x)
    assert [run(tf.gradients(y, x)[0]).tolist() for y in (old, new)] == [[2.0], [1.0]]


def test_a_function_that_is_gone_is_said_to_be(graph):
    """Between the end of a closure and the end of its name, another thread may still ask for it."""
    op = tf.nn.relu(tf.constant([1.0])).op
    with pytest.raises(gg.RegistrationError, match="'Relu' \\(type Relu\\) is tagged with gradient 'gone', whose function is gone"):
        gradients._dispatch("gone", op, op.outputs[0])


@pytest.mark.parametrize("op_type", ["Shape", "Rint"], ids=["not differentiable", "a function that returns None"])
def test_a_gradient_of_tensorflows_that_is_none(op_type, graph):
    """As original_gradient, and as the value of an override: None for each input, as TensorFlow has it."""
    x = tf.placeholder(tf.float32, [None])
    op = (tf.shape(x) if op_type == "Shape" else tf.rint(x)).op
    assert op.type == op_type and gg.original_gradient(op, tf.ones([1])) == [None]
    with gg.override_gradients({"Relu": op_type}):
        y = tf.nn.relu(x)
    assert tf.gradients(y, x) == [None]
    if op_type == "Shape":
        with gg.override_gradients({"Mul": op_type}):
            z = x * tf.placeholder(tf.float32, [None])
        assert tf.gradients(z, list(z.op.inputs)) == [None, None]


def test_none_for_a_single_input_as_tensorflow_1_took_it(graph):
    """What ``graphgrad run`` lets through is told; two inputs are an error for it as well."""
    told = []
    x = tf.placeholder(tf.float32, [None])
    one, two = tf.nn.relu(x).op, (x * x).op
    record = gg.registry.gradients.register(lambda op, grad: None)
    record.told = told.append
    assert record(one, x) == [None] and len(told) == 1 and "returned None: its input has no gradient" in told[0]
    with pytest.raises(gg.GradientError, match="returned None: a return statement may be missing"):
        record(two, x)


def test_bound_methods_and_partials(graph, run):
    """The same method of the same object is the same function; of another object it is another, under another name."""
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def rule(self, op, grad):
            return self.factor * grad

    two, three, x = Scaled(2.0), Scaled(3.0), tf.constant([1.0])
    overrides = [gg.override_gradients({"Relu": method}) for method in (two.rule, two.rule, three.rule)]
    names = [override.gradients["Relu"] for override in overrides]
    assert names[0] == names[1] != names[2]
    with overrides[0]:
        y = tf.nn.relu(x)
    with gg.override_gradients({"Relu": functools.partial(make, 5.0)()}), gg.override_gradients({"Relu": overrides[2].gradients["Relu"]}):
        z = tf.nn.relu(x)
    with gg.override_gradients({"Relu": functools.partial(lambda factor, op, grad: factor * grad, 4.0)}):
        w = tf.nn.relu(x)
    assert [run(tf.gradients(result, x)[0]).tolist() for result in (y, z, w)] == [[2.0], [3.0], [4.0]]


def test_the_name_of_a_function_of_a_program(monkeypatch):
    """``python -m package.tool`` and ``python -m package``: by the module's name, as another process imports it."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    for spec, name in (("package.tool", "package.tool.rule"), ("package.__main__", "package.rule")):
        main.__spec__ = types.SimpleNamespace(name=spec)
        exec("def rule(op, grad):\n    return grad", main.__dict__)
        assert source_name(main.rule) == name


@pytest.mark.parametrize("one, other, same", [
    ((1, [2.0, (3, "a")]), (1, [2.0, (3, "a")]), True),
    ((1, [2.0, (3, "a")]), (1, [2.0, (3, "b")]), False),
    ((1, [2.0]), (1, [2.0, 3.0]), False),
    ((1.0,), (1,), False),
])
def test_what_sets_two_closures_apart(one, other, same):
    """What they close over, looked into."""
    def close(value):
        def closed(op, grad):
            return value and grad
        return closed

    assert same_function(close(one), close(other)) == same


def test_a_closure_over_what_is_not_assigned_yet():
    """It can be registered; two such are the same."""
    def unassigned(given):
        def closed(op, grad):
            return later * grad
        if given:
            return closed
        later = 1.0
        return closed

    assert same_function(unassigned(True), unassigned(True))
    assert not same_function(unassigned(True), unassigned(False))


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


def test_a_surrogate_that_cannot_be_called_is_refused():
    """At once, not when somebody checks the rule."""
    with pytest.raises(TypeError, match="A surrogate must be callable as forward\\(op, \\*inputs\\), but got 3"):
        gg.declare_surrogate(3)


def test_a_closure_that_is_given_its_own_name_stays(graph):
    """Registered for good under the name that it had in passing, as a saved graph needs it; another may not take it."""
    import gc
    name = gg.override_gradients({"Relu": make(7.0)}).gradients["Relu"]
    gc.collect()
    assert name not in gradients
    closure = make(7.0)
    assert gg.override_gradients({"Relu": closure}).gradients["Relu"] == name
    gg.register_gradient(name)(closure)
    del closure
    gc.collect()
    assert name in gradients
    with pytest.raises(gg.RegistrationError, match="different closed-over values"):
        gg.register_gradient(name)(make(8.0))
    gradients.drop(name)


def test_what_is_meant_by_a_misspelt_name():
    """Close matches whatever the capitals; an op type without a gradient is said to be one; and what to write."""
    gg.register_gradient("TestRegistryMeant")(rule)
    for name, text in (("testregistrymeant", "No gradient named 'testregistrymeant' is registered. Did you mean 'TestRegistryMeant'"),
                       ("Bucketize", "'Bucketize' is registered, and TensorFlow has none for operations of type 'Bucketize'."),
                       ("qqqqqqqqqqqq", "No gradient named 'qqqqqqqqqqqq' is registered. Register it first: @graphgrad.register_gradient")):
        with pytest.raises(gg.RegistrationError, match=text):
            gg.override_gradients({"Relu": name})


def test_original_gradients_of_one_and_of_several_inputs(graph, run):
    """Always a list, one per input: tensors, None, rows."""
    x, table = tf.constant([2.0]), tf.constant([[1.0], [2.0]])
    one = gg.original_gradient(tf.square(x).op, x)
    two = gg.original_gradient((x * tf.constant([5.0])).op, x)
    rows = gg.original_gradient(tf.gather(table, [1]).op, tf.constant([[3.0]]))
    assert [type(result) for result in (one, two, rows)] == [list] * 3
    assert [value.tolist() for value in run(one + two)] == [[8.0], [10.0], [4.0]]
    assert isinstance(rows[0], tf.IndexedSlices) and rows[1:] == [None, None]


def test_names_in_the_registry_are_sorted_and_counted_once():
    """Also one that is there for good and in passing."""
    gg.register_gradient("test_registry.b")(rule)
    gg.register_gradient("test_registry.a")(unnamed)
    override = gg.override_gradients({"Relu": make(9.0)})
    names = list(gradients)
    assert names == sorted(set(names)) and len(gradients) == len(names)
    assert override.gradients["Relu"] in names and gradients.get("test_registry.nobody") is None


def test_rules_without_parameters_are_there_by_their_names():
    """In any process that has graphgrad's rules, used or not: a saved graph finds them."""
    assert callable(gg.rules.guided)   # imported at its first use
    assert {"graphgrad." + name for name in ("guided", "deconvnet", "straight_through", "zero", "no_gradient")} <= set(gradients)
    assert "graphgrad.reverse(factor=0.125)" not in gradients
    assert gg.override_gradients({"Identity": gg.rules.reverse(0.125)}).gradients == {"Identity": "graphgrad.reverse(factor=0.125)"}
