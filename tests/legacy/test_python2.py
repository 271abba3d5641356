"""Python 2 in memory: tuples as parameters, and files that Python 3 can parse but that mean Python 2."""
import pytest

from graphgrad.legacy.python2 import is_python2, translate

TUPLES = """\
def plain(a, (b, (c, d)), e=(3, 4), *rest):
    "doc"
    return a / 2 + b + c + d + e[1] + len(rest)
f = lambda (k, v), w=(1, 2): k - v + w[0]
print plain(7, (1, (2, 3))), f((5, 2)), sorted({"z": 2, "y": 1}.items(), key=lambda (k, v): v), plain.__doc__
print {(1, 2): (lambda x: (x, 1))(3)}, [(lambda a, (b, c): (a, b, c))(1, (2, 3))]
"""


def test_parameters_that_are_tuples(run_in_module_folder):
    """What Python 2.7 prints; defaults and parentheses elsewhere stay what they are."""
    done = run_in_module_folder("tuples.py", TUPLES)
    assert done.stdout == "13 4 [('y', 1), ('z', 2)] doc\n{(1, 2): (3, 1)} [(1, 2, 3)]\n", done.stderr


def test_lines_stay():
    """A traceback names the line that it is on."""
    assert translate(TUPLES).count("\n") == TUPLES.count("\n")


def test_what_parses_may_be_python_2(run_in_module_folder):
    """Integer division and print of a tuple, as 2.7 does; an imported module too, though Python 3 had compiled it."""
    (run_in_module_folder.folder / "half.py").write_text("def half(n):\n    return [i / 2 for i in xrange(n)]\n")
    main = "import half\nprint(half.half(4), 7 / 2, {'a': 1}.has_key('a'))\n"
    first = run_in_module_folder("first.py", "import half\nprint(half.__name__)\n", options=["--no-py2"])
    assert first.stdout == "half\n"
    done = run_in_module_folder("parses.py", main)
    assert done.stdout == "([0, 0, 1, 1], 3, True)\n", done.stderr
    assert done.stderr.count("is Python 2; translated in memory") == 2


@pytest.mark.parametrize("source, wanted", [
    ("for i in xrange(3): pass", True), ("print(unicode(3))", True), ("import cPickle", True), ("d.iteritems()", True),
    ("d.has_key(3)", True), ("x = 1 / 2", False), ("xrange = range\nxrange(3)", False),
    ("from six.moves import xrange\nxrange(3)", False), ("import six\nsix.iteritems(d)", False),
    ("try:\n    import cPickle\nexcept ImportError:\n    import pickle", False),
    ("try:\n    xrange\nexcept NameError:\n    xrange = range\nxrange(3)", False),
    ("import pandas\nframe.iteritems()", False), ("print 3", False),
])
def test_what_is_python_2(source, wanted):
    """Only what Python 3 has not and the file does not provide for; what cannot be parsed is told elsewhere."""
    assert is_python2(source.encode()) is wanted
