"""The command ``graphgrad``: run, record, compare, build, rules. Exit status: 0 same or clean, 1 differs, 2 usage."""
import argparse
import os
import sys

from . import __version__
from .errors import GraphGradError


def main(argv=None):
    """Run the command line; returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.do(arguments)
    except GraphGradError as error:
        print("graphgrad: {}".format(error), file=sys.stderr)
        return 2


def _parser():
    parser = argparse.ArgumentParser(prog="graphgrad", description=(
        "Override gradients in TensorFlow graphs, and bring old TensorFlow 1 code to today's TensorFlow with proof."))
    parser.add_argument("--version", action="version", version="graphgrad " + __version__)
    verbs = parser.add_subparsers(metavar="VERB", dest="verb")
    verbs.required = True

    run = verbs.add_parser("run", help="run a TensorFlow 1 script, unmodified, and say what its overrides did")
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")
    run.set_defaults(do=_run)

    record = verbs.add_parser("record", help="the same, keeping what every Session.run returned", usage=(
        "graphgrad record -o OLD.npz SCRIPT [ARGS]\n       graphgrad record SCRIPT [ARGS] -o OLD.npz"))
    record.add_argument("-o", "--output", help="the file to write")
    record.add_argument("script")
    record.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own; a last -o FILE is taken as ours")
    record.set_defaults(do=_record)

    compare = verbs.add_parser("compare", help="run again, or read, and compare with an old result", description=(
        "compare SCRIPT OLD.npz runs the script; compare NEW.npz OLD.npz reads both; compare FOLDER takes every "
        "SCRIPT.py in it with old_results/SCRIPT.npz (SCRIPT_graphgrad.py with the same)."))
    compare.add_argument("new", help="a script, a recording or a folder")
    compare.add_argument("old", nargs="?", help="the old recording")
    compare.set_defaults(do=_compare)

    build = verbs.add_parser("build", help="compile a C++ source of operations for the installed TensorFlow")
    build.add_argument("source")
    build.add_argument("-o", "--output", help="the library to write; by default beside the source, as .so")
    build.set_defaults(do=_build)

    rules = verbs.add_parser("rules", help="list the gradient rules, or show one")
    rules.add_argument("name", nargs="?")
    rules.set_defaults(do=_rules)
    return parser


def _run(arguments):
    from .golden.recorder import Recorder
    from .legacy import run_script
    from .legacy.runner import activate, check_script
    check_script(arguments.script)
    activate()
    recorder = Recorder(script=arguments.script, keep_values=False)
    try:
        with recorder:
            run_script(arguments.script, arguments.arguments)
    finally:
        for line in _overrides_text(recorder.meta.get("overrides", ())):
            print("graphgrad: " + line, file=sys.stderr)
    return 0


def _overrides_text(overrides):
    for entry in overrides:
        text = "{op_type} -> {tag}: {tagged} ops tagged, the gradient went through {differentiated}".format(**entry)
        yield text if entry["differentiated"] else text + ": no gradient that was built uses this override"


def _record(arguments):
    from .golden.recorder import Recorder
    from .legacy import run_script
    from .legacy.runner import activate, check_script
    rest = list(arguments.arguments)
    if arguments.output is None and len(rest) >= 2 and rest[-2] in ("-o", "--output"):
        arguments.output = rest.pop()
        rest.pop()
    if arguments.output is None:
        print("graphgrad record: say where to write, with -o OLD.npz.", file=sys.stderr)
        return 2
    check_script(arguments.script)
    folder = os.path.dirname(os.path.abspath(arguments.output))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        print("graphgrad record: the folder of {} is not there or not writable.".format(arguments.output),
              file=sys.stderr)
        return 2
    activate()
    command = ["graphgrad", "record", os.path.basename(arguments.script)] + rest
    recorder = Recorder(command, arguments.script)
    try:
        with recorder:
            run_script(arguments.script, rest)
    finally:
        recorder.save(arguments.output)
        print("graphgrad: recorded {} runs to {}".format(len(recorder.runs), arguments.output), file=sys.stderr)
    return 0


def _compare(arguments):
    from .golden import suite
    if os.path.isdir(arguments.new):
        if arguments.old is not None:
            print("graphgrad compare: a folder is compared with its own old_results, not with {}.".format(
                arguments.old), file=sys.stderr)
            return 2
        return suite.compare_folder(arguments.new)
    if arguments.old is None:
        print("graphgrad compare: {} needs an old recording to be compared with.".format(arguments.new),
              file=sys.stderr)
        return 2
    if arguments.new.endswith(".npz"):
        return suite.compare_files(arguments.new, arguments.old)
    return suite.compare_script(arguments.new, arguments.old)


def _build(arguments):
    from .legacy.runner import import_quietly
    import_quietly()
    from .op_libraries import build_op_library
    print("wrote " + build_op_library(arguments.source, arguments.output))
    return 0


def _rules(arguments):
    from . import catalogue
    entries = catalogue.read()
    if arguments.name is None:
        width = max(len(entry.signature) for entry in entries)
        for entry in entries:
            print("{}  {}".format(entry.signature.ljust(width), catalogue.line(entry)))
        return 0
    found = [entry for entry in entries if entry.name == arguments.name]
    if not found:
        print("graphgrad rules: there is no rule {!r}; there are {}.".format(
            arguments.name, ", ".join(entry.name for entry in entries)), file=sys.stderr)
        return 2
    print("{}\n\n{}".format(found[0].signature, found[0].doc))
    return 0
