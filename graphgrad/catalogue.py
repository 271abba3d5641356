"""The rules as a list for people, read from the sources: no TensorFlow is imported to print it."""
import ast
import collections
import inspect
import os
import re

#: name, signature: ``reverse``, ``reverse(factor)``; summary: the first line of doc, the whole docstring; family: its
#: file; op_types, formula, paper: the short of its sections "Op types", "Backward" and "Source".
Entry = collections.namedtuple(
    "Entry", ["name", "signature", "summary", "doc", "family", "op_types", "formula", "paper"])

_FAMILIES = ("relu", "sign", "quantize", "flow", "pooling", "lrp", "relevance")
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules")


def read():
    """An Entry per rule, in the order of the families and their files."""
    public = ast.literal_eval(next(node.value for node in _parse("__init__").body if isinstance(
        node, ast.Assign) and node.targets[0].id == "__all__"))
    entries = []
    for family in _FAMILIES:
        functions = {node.name: node for node in _parse(family).body if isinstance(node, ast.FunctionDef)}
        entries += [_entry(node, functions, family) for name, node in functions.items() if name in public]
    return entries


def line(entry):
    """One line for a list: formula, op types, paper."""
    return "{}   [{}]   {}".format(entry.formula, entry.op_types, entry.paper).rstrip()


def known_as(entries, name):
    """The entries whose sources call the rule by a name: what public code says ("QuantizeGrad", "BWN", "ste_tern")."""
    word = re.compile(r"\b{}\b".format(re.escape(name)), re.IGNORECASE)
    return [entry for entry in entries if word.search(_section(entry.doc, "Source"))]


def _parse(module):
    with open(os.path.join(_HERE, module + ".py"), encoding="utf-8") as stream:
        return ast.parse(stream.read())


def _entry(node, functions, family):
    inner = _inner_rule(node, functions)
    doc = inspect.cleandoc(ast.get_docstring(inner or node))
    made = inspect.cleandoc(ast.get_docstring(node))
    if inner and "Args:" in made:
        doc += "\n\n" + made[made.index("Args:"):]
    signature = node.name + ("({})".format(", ".join(arg.arg for arg in node.args.args)) if inner else "")
    backward, op_types, source = [_section(doc, title) for title in ("Backward", "Op types", "Source")]
    formulas = re.findall("``(.*?)``", backward if backward.startswith("``") else doc.split("\n")[0])
    papers = re.findall(r"arXiv:[\d.]+\d|doi:\S+[\w]", source)
    types = re.split(r"[.:;(]|, by | if | and an output", op_types)[0].strip(" ,")
    return Entry(node.name, signature, doc.split("\n")[0], doc, family, types,
                 formulas[0] if formulas else backward.split(".")[0],
                 papers[0] if papers else re.split("[;,(]|[.] ", source)[0].strip("."))


def _inner_rule(node, functions):
    """The documented rule inside a function that makes rules: its own, or that of the function it returns a call of."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "rule":
            return child
        call = child.value if isinstance(child, ast.Return) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in functions:
            found = _inner_rule(functions[call.func.id], functions)
            if found is not None:
                return found
    return None


def _section(doc, title):
    found = re.search(r"(?:^|\n){}[^:\n]*: (.*?)(?=\n[A-Z][\w ,]*:|$)".format(title), doc, re.DOTALL)
    return " ".join(found.group(1).split()) if found else ""
