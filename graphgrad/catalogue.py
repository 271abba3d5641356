"""The rules as a list for people, read from the sources: no TensorFlow is imported to print it."""
import ast
import collections
import inspect
import os

Entry = collections.namedtuple("Entry", ["name", "signature", "summary", "doc", "family"])

_FAMILIES = ("relu", "sign", "flow")


def read():
    """An Entry per rule, in the order of the families and their files."""
    entries = []
    for family in _FAMILIES:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules", family + ".py")
        with open(path, encoding="utf-8") as stream:
            tree = ast.parse(stream.read())
        entries += [_entry(node, family) for node in tree.body
                    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return entries


def _entry(node, family):
    inner = [child for child in node.body if isinstance(child, ast.FunctionDef)]
    documented = inner[0] if inner else node    # a rule with parameters is made by a function around it
    doc = inspect.cleandoc(ast.get_docstring(documented))
    signature = node.name + ("({})".format(", ".join(arg.arg for arg in node.args.args)) if inner else "")
    return Entry(node.name, signature, doc.split("\n")[0], doc, family)
