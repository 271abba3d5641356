"""What holds of any graph: random programs with control flow and functions (``programs.py``), seeded, on every TensorFlow.

Expected values come from the ordinary graph, from tf.custom_gradient, or from TensorFlow 1.15.5; never from an override.
"""
import contextlib
import gc
import json
import os
import warnings

import numpy as np
import programs
import pytest
from conftest import TF1, tf
from hypothesis import HealthCheck, Phase, example, given, reject, settings
from hypothesis import strategies as st
from programs import tensorflow
from record_programs import NAMES, results_of

import graphgrad as gg
from graphgrad import _tf, blocks, registry
from graphgrad.golden import compare, load
from graphgrad.golden.explain import explain
from graphgrad.golden.recorder import Recorder

CONTROL_FLOW = pytest.mark.parametrize("version", [1, 2], ids=["control_flow_v1", "control_flow_v2"])


def seeded(examples):
    """The same examples each time, whatever the clock says; nothing is written to disk, and none is made smaller.

    (To make a failing program smaller takes many minutes, as each runs for a second; it is data, and printed.)
    """
    return settings(derandomize=True, database=None, deadline=None, max_examples=examples, print_blob=False,
                    phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))


@st.composite
def random_programs(draw, control=programs.CONTROL):
    """Programs of 5 to 60 steps."""
    return programs.draw(lambda n: draw(st.integers(0, n - 1)), draw(st.sampled_from(programs.SIZES)), control=control)


def same_bits(one, other):
    """Whether two lists of arrays are equal to the last bit, None where the other has None."""
    return len(one) == len(other) and all(
        a is b if a is None or b is None else a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(one, other))


def close(one, other):
    """Whether two lists of float32 arrays are equal but for rounding, None where the other has None."""
    return len(one) == len(other) and all(
        a is b if a is None or b is None else np.all(np.abs(a - b) <= 1e-5 * np.abs(b) + 5e-6 * np.abs(b).max())
        for a, b in zip(one, other))


def parts_of(fetched):
    """The values and gradients of several builds of a program, each in a list."""
    return [fetched[at:at + 5] for at in range(0, len(fetched), 5)]


def own(op, *grads):
    """TensorFlow's own gradient, as an override."""
    return gg.original_gradient(op, *grads)


def types_with_gradient(graph):
    """Every type of operation in a graph, bodies included, that TensorFlow can differentiate."""
    types = {op.type for op in graph.get_operations()}
    types |= {node.op for function in graph.as_graph_def().library.function for node in function.node_def}
    return sorted(kind for kind in types if _tf.is_op_type(kind) and _tf.is_registered(kind)
                  and _tf.registered_gradient(kind) is not None)


def reaches_with_on(graph, types):
    """Whether on() can take every operation of some types, as the README's table of limits has it."""
    functions = {function.signature.name: function for function in graph.as_graph_def().library.function}
    return not TF1 or not any(node.op in types for function in functions.values() for node in function.node_def)


@contextlib.contextmanager
def put_on(override, graph):
    """Its on(), which may warn that no gradient went through it where none did in a block: what it took is dead."""
    with warnings.catch_warnings():
        if not any(override.report[key].differentiated for key in override.gradients):
            warnings.filterwarnings("ignore", "No gradient was built through any of", gg.OverrideWarning)
        with override.on(graph):
            yield


def on_or_refused(override, graph, types, build):
    """What ``build`` returns inside on(); None where on() refuses, as it must on 1.15 alone and before anything is bound."""
    if reaches_with_on(graph, types):
        with put_on(override, graph):
            return build()
    before = state_of(graph)
    with pytest.raises(gg.OverrideError, match="on\\(\\) (cannot reach|would be ignored)"):
        with override.on(graph):
            pass
    assert state_of(graph) == before
    return None


# An override that is the op's own gradient.

LOOP = {"dtype": "float32", "steps": [["map", 0, 1, [["multiply", 0, 1]]]]}   # its gradient adds inputs to the loop


@CONTROL_FLOW
@seeded(5)
@example(program=LOOP)
@given(program=random_programs())
def test_the_own_gradient_as_an_override_changes_no_bit(version, program):
    """On every type of operation in the graph at once, in each of the three forms: gradients and values are the ordinary ones."""
    with programs.control_flow(version), tf.Graph().as_default() as graph:
        plain = programs.build(program)
        ordinary = programs.gradients(plain)
        types = types_with_gradient(graph)
        override = gg.override_gradients({kind: own for kind in types}, require="any")
        with override:
            inside = programs.Built(graph, plain.xs, programs.evaluate(program, plain.xs))
        fetched = [plain.ys + ordinary, inside.ys + programs.gradients(inside)]
        assert override.report.differentiated
        called = programs.Built(graph, plain.xs, override(lambda *xs: programs.evaluate(program, xs))(*plain.xs))
        fetched.append(called.ys + programs.gradients(called))
        came = parts_of(programs.run(graph, sum(fetched, []), program))
    with programs.control_flow(version), tf.Graph().as_default() as graph:
        existing = programs.build(program)
        on = on_or_refused(override, graph, types, lambda: programs.gradients(existing))
        if on is not None:
            came.append(programs.run(graph, existing.ys + on, program))
    for form in came:
        assert same_bits(form, came[0])


# An override that is another gradient: the three forms, and tf.custom_gradient.

def _scaled(op, grad):
    return 3 * gg.original_gradient(op, grad)[0]


def _cubed(op, grad):
    return grad * grad * grad


def _of_output(op, grad):
    return grad * op.outputs[0]


def _of_input(op, grad):
    return grad + tf.sin(op.inputs[0])


#: For types that nothing else in a program builds: not those of other steps, nor the Identity of loops.
RULES = dict(zip(["Atan", "Cos", "Elu", "Erf", "LeakyRelu", "Relu", "Relu6", "Selu", "Sigmoid", "Softmax", "Softplus"],
                 [_scaled, _cubed, _of_output, _of_input] * 3))


#: TensorFlow's own gradients of the types under _scaled, of the input x and the output y.
OWN = {
    "Atan": lambda x, y, grad: grad / (1 + x * x),
    "LeakyRelu": lambda x, y, grad: tf.raw_ops.LeakyReluGrad(gradients=grad, features=x),
    "Sigmoid": lambda x, y, grad: grad * y * (1 - y),
}


def by_custom_gradient(kind, rule):
    """An operation spelled with tf.custom_gradient and a gradient written out again, without graphgrad.

    The output in the gradient is what came out of tf.custom_gradient, not of the operation in it: as of
    ``op.outputs``, its own gradient is the overridden one again.
    """
    operation = programs.SINGLE[kind]

    def backward(x, y, grad):
        if rule is _scaled:
            return 3 * OWN[kind](x, y, grad)
        if rule is _cubed:
            return grad * grad * grad
        return grad * y if rule is _of_output else grad + tf.sin(x)

    def build(x):
        outputs = []

        @tf.custom_gradient
        def spelled(x):
            return operation(x), lambda grad: backward(x, outputs[0], grad)

        outputs.append(spelled(x))
        return outputs[0]

    return build


def override_of(program):
    """(op types, override) of the operations of a program that have a rule here; it gets a Relu if none has."""
    kinds = programs.kinds(program["steps"]) & set(RULES)
    if not kinds:
        program["steps"].append(["Relu", 0])
        kinds = {"Relu"}
    return kinds, gg.override_gradients({kind: RULES[kind] for kind in sorted(kinds)}, require="any")


#: A function in which what is overridden is on no path to its output.
DEAD = {"dtype": "float32", "steps": [["function", 0, 1, [["Cos", 1], ["minimum", 0, 1]]], ["divide", 2, 0]]}


@CONTROL_FLOW
@seeded(5)
@example(program=DEAD)
@given(program=random_programs())
def test_three_forms_and_tf_custom_gradient_agree(version, program):
    """with, on(), on() within on() and a call: one gradient to the last bit, that of tf.custom_gradient; the forward is the plain one."""
    kinds, override = override_of(program)
    with programs.control_flow(version), tf.Graph().as_default() as graph:
        plain = programs.build(program)
        with override:
            inside = programs.Built(graph, plain.xs, programs.evaluate(program, plain.xs))
        fetched = [inside.ys + programs.gradients(inside)]
        called = programs.Built(graph, plain.xs, override(lambda *xs: programs.evaluate(program, xs))(*plain.xs))
        fetched.append(called.ys + programs.gradients(called))
        fetched.append(plain.ys + programs.gradients(plain))
        # TF 1.15 cannot differentiate tf.custom_gradient in loops and branches of control flow v2.
        spellable = not TF1 or version == 1 and not any(
            step[0] == "function" and programs.kinds(step[3]) & set(programs.CONTROL) for step in program["steps"])
        if spellable:
            written = {kind: by_custom_gradient(kind, RULES[kind]) for kind in kinds}
            spelled = programs.Built(graph, plain.xs, programs.evaluate(program, plain.xs, written))
            fetched.append(spelled.ys + programs.gradients(spelled))
        came = parts_of(programs.run(graph, sum(fetched, []), program))

    with programs.control_flow(version), tf.Graph().as_default() as graph:
        existing = programs.build(program)
        on = on_or_refused(override, graph, kinds, lambda: programs.gradients(existing))
        apart = [existing.ys + (on if on is not None else programs.gradients(existing))]
        # A called function keeps the first backward that was built for it, and says so. TF 1.15 cannot build a second
        # gradient of a switch_case in a loop.
        once = {"function", "switch"} if TF1 else {"function"}
        again = on is not None and not once & programs.kinds(program["steps"])
        if again:
            with put_on(override, graph), put_on(override, graph):
                apart.append(existing.ys + programs.gradients(existing))
            apart.append(existing.ys + programs.gradients(existing))
        apart = parts_of(programs.run(graph, sum(apart, []), program))
    inside, called, plain = came[:3]
    assert same_bits(called, inside)
    assert same_bits(apart[0], plain if on is None else inside)
    if again:
        assert same_bits(apart[1], inside)
        assert same_bits(apart[2], plain)
    if spellable:   # another graph, in which gradients are added in another order
        assert close(inside, came[3])
    for form in came + apart:
        assert same_bits(form[:2], plain[:2])   # the forward


def second_gradients(built):
    """Of sums of sines of the gradients of a program: what every part of the gradient has a part in."""
    first = [gradient for gradient in programs.gradients(built) if gradient is not None]
    with warnings.catch_warnings():   # of tf.gather
        warnings.filterwarnings("ignore", "Converting sparse IndexedSlices to a dense Tensor of unknown shape")
        came = tf.gradients([tf.sin(gradient) for gradient in first], built.xs)
    return [tf.zeros(programs.SHAPE) if gradient is None else tf.convert_to_tensor(gradient) for gradient in came]


#: Each rule on an input and each on an output of another, as far as numbers of such rules stay small.
EACH = {"dtype": "float32", "steps": [[kind, place] for place, kind in enumerate(sorted(RULES))]
        + [[kind, 3] for kind in sorted(RULES)]}


@CONTROL_FLOW
@seeded(2)
@example(program=EACH)
@given(program=random_programs(control=("cond", "switch")))   # loops have no second gradient in every TensorFlow
def test_the_gradient_of_an_overridden_gradient_is_that_of_tf_custom_gradient(version, program):
    """In the second order the gradient that was put in is differentiated, and where it holds the output, that again by its rule."""
    if TF1 or version == 1:   # TensorFlow has no value for such gradients of its own map in branches of control flow v1
        steps = [step for step in program["steps"] if step[0] not in programs.CONTROL]
        program = {"dtype": "float32", "steps": steps or [["Relu", 0]]}
    kinds, override = override_of(program)
    with programs.control_flow(version), tf.Graph().as_default() as graph:
        plain = programs.build(program)
        xs = plain.xs
        try:
            second_gradients(plain)
        except LookupError:   # TensorFlow has none, of Softsign for one
            reject()
        with override:
            inside = programs.Built(graph, xs, programs.evaluate(program, xs))
        called = programs.Built(graph, xs, override(lambda *xs: programs.evaluate(program, xs))(*xs))
        written = {kind: by_custom_gradient(kind, RULES[kind]) for kind in kinds}
        spelled = programs.Built(graph, xs, programs.evaluate(program, xs, written))
        forms = [second_gradients(built) for built in (inside, called, spelled)]
        came = programs.run(graph, sum(forms, []), program)
    assert same_bits(came[3:6], came[:3])
    assert close(came[:3], came[6:])


# Scopes.

def state_of(graph, number=None):
    """Everything that a scope may touch in a graph (its first so many operations) and in the process."""
    operations = graph.get_operations()[:number]
    return {
        "override map": dict(graph._gradient_override_map),
        "devices": tuple(graph._device_functions_outer_to_inner),
        "control flow": graph._get_control_flow_context(),
        "name scope": graph.get_name_scope(),
        "colocation": [op for op in graph._colocation_stack.peek_objs()],
        "control": list(graph._control_dependencies_stack),
        "operations": [(op.name, type(op), _tf.tag_of(op), _tf.bound_gradient(op), op.device) for op in operations],
        "own gradients": [getattr(op, "_gradient_function", None) for op in operations],
        "default graph": tf.get_default_graph(),
        # TensorFlow's own: 1.15 names the gradient of each function it traces. And ours for all bindings on 1.15.
        "registry": {name: entry for name, entry in _tf._registry._registry.items() if not name.startswith(
            ("PartitionedCall-", "StatefulPartitionedCall-", "graphgrad.bound"))},
        "names": list(registry.gradients),
        "hooks": (_tf._hook_users, _tf._execute.record_gradient),
        "blocks": [list(opened) for opened in blocks._open_blocks.values() if opened],
    }


class Leave(Exception):
    """What a block is left by."""


OVERRIDES = [
    gg.override_gradients({"Tanh": _cubed}),
    gg.override_gradients({"Sin": own, "Tanh": "Identity"}, require="any"),
    gg.override_gradients({"Sin": None, "Elu": "Relu"}, strict=True),
]
SCOPES = ("with", "with", "on", "on", "map", "device", "no device", "name", "colocate", "control", "cond", "while",
          "function", "graph", "bad map", "bad on", "call")
LEAVES = ("op", "op", "gradients", "py_func", "tf_func", "raise")


@st.composite
def scope_trees(draw, depth=3):
    """A scope: ``[kind, which override, whether an exception stops here, [what is inside]]``."""
    number = draw(st.integers(0, 3)) if depth else 0
    inside = [draw(scope_trees(depth - 1)) if draw(st.booleans()) else [draw(st.sampled_from(LEAVES)), 0, False, []]
              for _ in range(number)]
    return [draw(st.sampled_from(SCOPES)), draw(st.integers(0, len(OVERRIDES) - 1)), draw(st.booleans()), inside]


def walk(node, x):
    """Build a tree of scopes on a tensor, demanding of each scope that it leaves everything as it was; returns a tensor."""
    kind, which, stops, inside = node
    override = OVERRIDES[which]
    graph = tf.get_default_graph()

    def through(value):
        for inner in inside:
            value = walk(inner, value)
        return value

    if kind == "op":
        return tf.tanh(tf.sin(x))
    if kind == "gradients":
        return x + sum(gradient for gradient in tf.gradients(tf.tanh(tf.sin(x)), x) if gradient is not None)
    if kind == "py_func":
        return gg.py_func_with_grad(np.sin, x, x.dtype, grad=_cubed, output_shapes=x.shape)
    if kind == "tf_func":
        return gg.tf_func_with_grad(tf.sin, x, grad=_cubed)
    if kind == "raise":
        raise Leave()
    number = len(graph.get_operations())
    before = state_of(graph)
    y = x
    try:
        if kind in SCOPE_OF:
            with SCOPE_OF[kind](override, graph, x):
                y = through(x)
        elif kind == "cond":
            y = tf.cond(tf.reduce_sum(x) > 0, lambda: through(x), lambda: tf.identity(x))
        elif kind == "while":
            y = tf.while_loop(lambda i, _: i < 1, lambda i, value: (i + 1, through(value)), [tf.constant(0), x])[1]
        elif kind == "function":
            y = tensorflow.function(through, autograph=False)(x)
        elif kind == "graph":
            with tf.Graph().as_default():
                through(tf.constant(1.0))
        elif kind == "call":
            y = override(through)(x)
        elif kind == "bad map":
            with pytest.raises((gg.RegistrationError, gg.OverrideError, TypeError)):
                gg.override_gradients({"Tanh": _cubed, ("Sin" if which else "Sine"): ("NoSuch" if which == 1 else 7)})
        else:
            with pytest.raises(gg.OverrideError):
                with override.on(graph, where="("):
                    pass
    except (Leave, gg.OverrideError):   # the latter of a strict override whose key met nothing, or of on() on 1.15
        assert state_of(graph, number) == before
        if not stops:
            raise
        return x
    assert state_of(graph, number) == before
    return y


SCOPE_OF = {
    "with": lambda override, graph, x: override,
    "on": lambda override, graph, x: override.on(graph),
    "map": lambda override, graph, x: graph.gradient_override_map({"Tanh": "Identity", "Sin": "Tanh"}),
    "device": lambda override, graph, x: tf.device("/cpu:0"),
    "no device": lambda override, graph, x: tf.device(None),
    "name": lambda override, graph, x: tf.name_scope("scope"),
    "colocate": lambda override, graph, x: tf.colocate_with(x.op),
    "control": lambda override, graph, x: tf.control_dependencies([x]),
}


@CONTROL_FLOW
@seeded(12)
@given(tree=scope_trees())
def test_scopes_leave_everything_as_it_was(version, tree):
    """Any nesting of scopes, left by return or by exception: graph, registry, device stack and TensorFlow's functions are as before."""
    with programs.control_flow(version), tf.Graph().as_default() as graph, warnings.catch_warnings():
        warnings.simplefilter("ignore", gg.OverrideWarning)
        x = tf.tanh(tf.sin(tf.constant([0.5, -0.5])))
        before = state_of(graph)
        with contextlib.suppress(Leave, gg.OverrideError):
            walk(["name", 0, False, [tree]], x)
        gc.collect()
        after = state_of(graph, len(before["operations"]))
        assert after == before


# Recording and comparing.

def recorded(path, version, program, changed=None, factor=1.0):
    """Record the values and gradients of a program to a file; ``changed`` is the place of a value to multiply."""
    with programs.control_flow(version), tf.Graph().as_default() as graph, Recorder() as recorder:
        xs = programs.inputs(program)
        values = [tf.convert_to_tensor(x) for x in xs]
        for place, step in enumerate(program["steps"]):
            with tf.variable_scope("step{}".format(place)):
                value = programs._block([step], values, programs.UNARY)[-1]
                scale = tf.constant(factor if place == changed else 1.0, value.dtype)
                values.append(tf.multiply(value, scale, name="value"))
        built = programs.Built(graph, xs, values[3:])
        fetched = [tf.identity(value, name="fetched{}".format(place)) for place, value in enumerate(built.values)]
        fetched += [tf.identity(gradient, name="gradient{}".format(place)) for place, gradient in
                    enumerate(programs.gradients(built)) if gradient is not None]
        came = programs.run(graph, fetched, program)
    recorder.save(path)
    return {tensor.name: value for tensor, value in zip(fetched, came)}


@CONTROL_FLOW
@seeded(3)
@given(program=random_programs(), place=st.integers(0, 59), factor=st.sampled_from([1.5, -1.0, 1.001]))
def test_record_then_compare_is_empty_and_a_planted_difference_is_located(
        tmp_path_factory, version, program, place, factor):
    """Recorded twice, a program does not differ; with one value scaled, the first difference is the first array that differs."""
    folder = tmp_path_factory.mktemp("planted")
    place %= len(program["steps"])
    old = recorded(str(folder / "old.npz"), version, program)
    recorded(str(folder / "again.npz"), version, program)
    new = recorded(str(folder / "new.npz"), version, program, place, factor)
    with load(str(folder / "old.npz")) as then, load(str(folder / "again.npz")) as again, \
            load(str(folder / "new.npz")) as now:
        empty = compare(again, then)
        assert empty.same and empty.worst == 0 and empty.compared > len(program["steps"])
        found = compare(now, then)
        reasons = explain(found, now, then)
    differing = [name for name in old if np.any(
        np.abs(old[name] - new[name]) > 1e-5 * np.abs(old[name]) + 5e-6 * np.abs(old[name]).max())]
    if not old["fetched{}:0".format(place)].any():   # zeros scaled are zeros
        assert found.same
        return
    assert [difference.tensor.name for difference in found.differences] == differing
    assert differing[0] == "fetched{}:0".format(place)
    wanted = "has the other sign" if factor == -1 else "is {} times what it was".format(factor)
    assert reasons[0].startswith("fetched{}:0 {}".format(place, wanted))


# Another TensorFlow.

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs_1_15_5.npz")


def test_random_programs_are_those_of_tensorflow_1_15_5():
    """Values and gradients of random programs as TensorFlow 1.15.5 computed them, with control flow v1 and v2, within tolerance."""
    with np.load(RECORDED) as old:
        assert str(old["tensorflow"]) == "1.15.5"
        recorded_programs = json.loads(str(old["programs"]))
        assert len(recorded_programs) >= 40
        for number, program in enumerate(recorded_programs):
            new, then = results_of(program), old[str(number)]
            assert then.dtype == program["dtype"] and np.isnan(new[2:]).any((1, 2)).sum() < 3   # not all None
            gg.assert_matches(dict(zip(NAMES, new)), dict(zip(NAMES, then)))
