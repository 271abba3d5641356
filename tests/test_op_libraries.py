"""C++ operations: built with the installed TensorFlow's flags, loaded with gradients from Python. Needs a compiler."""
import os
import shutil
import subprocess
import sys

import pytest
from conftest import tf

import graphgrad as gg
from graphgrad.cli import main

EXAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "legacy_examples", "custom_op")


def cube_gradient(op, grad):
    return 3.0 * tf.square(op.inputs[0]) * grad


@pytest.fixture(scope="module")
def library_path(tmp_path_factory):
    if not any(shutil.which(compiler) for compiler in (os.environ.get("CXX") or "c++", "g++", "clang++")):
        pytest.skip("there is no C++ compiler here")
    return gg.build_op_library(os.path.join(EXAMPLE, "cube.cc"), str(tmp_path_factory.mktemp("op") / "cube.so"))


def test_an_operation_with_its_gradient(library_path, graph, run):
    """y = x**3 by the kernel, 3 * x**2 and then 6 * x by Python; loading again is quiet."""
    for _ in range(2):
        library = gg.load_op_library(library_path, gradients={"Cube": cube_gradient})
    x = tf.constant([-1.0, 2.0])
    y = library.cube(x)
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    assert [value.tolist() for value in run([y, first, second])] == [[-1.0, 8.0], [3.0, 12.0], [-6.0, 12.0]]
    assert run(library.cube(tf.constant([-1.0, 2.0], tf.float64))).tolist() == [-1.0, 8.0]


def test_the_contract_holds(library_path, graph):
    """A gradient of another dtype is named, as everywhere."""
    x = tf.constant([-1.0, 2.0], tf.float64)
    library = gg.load_op_library(library_path)
    with gg.override_gradients({"Cube": lambda op, grad: tf.cast(grad, tf.float32)}):
        y = library.cube(x)
    with pytest.raises(gg.GradientError, match=r"operation 'Cube' \(type Cube\).*has dtype float32, but the input has float64"):
        tf.gradients(y, x)


def test_it_can_be_overridden_as_any_other(library_path, graph, run):
    library = gg.load_op_library(library_path, gradients={"Cube": cube_gradient})
    x = tf.constant([-1.0, 2.0])
    with gg.override_gradients({"Cube": lambda op, grad: gg.original_gradient(op, tf.nn.relu(grad))}):
        y = library.cube(x)
    assert run(tf.gradients(y, x, grad_ys=tf.constant([-1.0, 1.0]))[0]).tolist() == [0.0, 12.0]


def test_another_gradient_or_operation_is_refused(library_path):
    gg.load_op_library(library_path, gradients={"Cube": cube_gradient})
    with pytest.raises(gg.RegistrationError, match="'Cube' is taken by cube_gradient"):
        gg.load_op_library(library_path, gradients={"Cube": lambda op, grad: grad})
    with pytest.raises(gg.OpLibraryError, match="has no operation 'Kube'; it has Cube"):
        gg.load_op_library(library_path, gradients={"Kube": cube_gradient})


def test_a_stale_or_missing_library_is_named(tmp_path):
    stale = tmp_path / "stale.so"
    stale.write_bytes(b"not a library")
    with pytest.raises(gg.OpLibraryError, match="built for another version, or is no op library.*graphgrad build"):
        gg.load_op_library(str(stale))
    with pytest.raises(gg.OpLibraryError, match="There is no op library .*graphgrad build SOURCE.cc"):
        gg.load_op_library(str(tmp_path / "none.so"))


def test_a_missing_compiler_or_a_bad_source_is_named(tmp_path, monkeypatch, capsys):
    source = tmp_path / "bad.cc"
    source.write_text("int main( {")
    old = tmp_path / "bad.so"
    old.write_text("kept")
    assert main(["build", str(source)]) == 2
    assert "does not compile for TensorFlow" in capsys.readouterr().err
    assert old.read_text() == "kept" and sorted(os.listdir(str(tmp_path))) == ["bad.cc", "bad.so"]
    assert main(["build", str(tmp_path / "none.cc")]) == 2
    assert "There is no source" in capsys.readouterr().err
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert main(["build", str(source)]) == 2
    assert "There is no C++ compiler no-such-compiler: install g++" in capsys.readouterr().err


def test_the_example_runs(library_path, tmp_path):
    """The script as it is, beside its library."""
    shutil.copy(os.path.join(EXAMPLE, "cube.py"), str(tmp_path))
    shutil.copy(library_path, str(tmp_path / "cube.so"))
    process = subprocess.run([sys.executable, "-W", "ignore", str(tmp_path / "cube.py")], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, universal_newlines=True,
                             env=dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(EXAMPLE))))
    assert process.stdout.splitlines() == [
        "x**3                     [-1.  8.]", "its gradient, 3 * x**2   [ 3. 12.]", "skipped in backward      [1. 1.]"], process.stderr
