"""The command ``graphgrad``: run, record, compare, scan, rules. Exit status: 0 same or clean, 1 differs, 2 usage."""
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

    run = verbs.add_parser("run", help="run a TensorFlow 1 script, unmodified, and say what its overrides did", usage=(
        "graphgrad run [--shims] [--json FILE] [--tf2-seeds] [--no-py2] SCRIPT [ARGS]\n"
        "       graphgrad run [...] -m MODULE [ARGS]"), description=(
            "SCRIPT is a .py file, of Python 3 or 2, or a notebook. What follows it is the script's own."))
    run.add_argument("--shims", action="store_true", help="list the old names that were supplied")
    run.add_argument("--json", metavar="FILE", help="write the diagnosis to FILE, instead of stderr")
    run.add_argument("--tf2-seeds", action="store_true", help="derive op seeds as TensorFlow 2 does, not as 1.x did")
    run.add_argument("--no-py2", action="store_true", help="do not translate Python 2")
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
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

    scan = verbs.add_parser("scan", help="find the porting hazards in a file or folder, without running anything")
    scan.add_argument("path")
    scan.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    scan.add_argument("--fix", action="store_true", help="show, as a diff, the renames that are certain")
    scan.add_argument("--write", action="store_true", help="make them")
    scan.set_defaults(do=_scan)

    rules = verbs.add_parser("rules", help="list the gradient rules, or show one")
    rules.add_argument("name", nargs="?")
    rules.set_defaults(do=_rules)
    return parser


def _run(arguments):
    from .legacy import command
    return command.run(arguments)


def _scan(arguments):
    from .legacy import scan
    return scan.command(arguments)


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


def _rules(arguments):
    from . import catalogue
    entries = catalogue.read()
    if arguments.name is None:
        width = max(len(entry.signature) for entry in entries)
        for entry in entries:
            print("{}  {}".format(entry.signature.ljust(width), entry.summary))
        return 0
    found = [entry for entry in entries if entry.name == arguments.name]
    if not found:
        print("graphgrad rules: there is no rule {!r}; there are {}.".format(
            arguments.name, ", ".join(entry.name for entry in entries)), file=sys.stderr)
        return 2
    print("{}\n\n{}".format(found[0].signature, found[0].doc))
    return 0
