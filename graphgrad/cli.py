"""The command ``graphgrad`` and its verbs. Exit status: 0 same or clean, 1 differs (or images skipped), 2 usage."""
import argparse
import os
import sys

from . import __version__
from .errors import GraphGradError
from .golden import commands

#: What a shell shows for a program that SIGPIPE ended, as ``yes | head`` does.
_READER_IS_GONE = 141


def main(argv=None):
    """Run the command line; returns the exit status."""
    try:
        try:
            arguments = _parser().parse_args(argv)
            return arguments.do(arguments)
        except GraphGradError as error:
            print("graphgrad: {}".format(error), file=sys.stderr)
            return 2
        finally:
            sys.stdout.flush()   # here, where it can be caught, and not when the process ends
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())   # for what is left in the buffer
        return _READER_IS_GONE


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

    commands.add_verbs(verbs)

    _add_saliency(verbs)

    build = verbs.add_parser("build", help="compile a C++ source of operations for the installed TensorFlow")
    build.add_argument("source")
    build.add_argument("-o", "--output", help="the library to write; by default beside the source, as .so")
    build.set_defaults(do=_build)

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


def _add_saliency(verbs):
    saliency = verbs.add_parser("saliency", help="saliency maps of a model in a file, without rebuilding it")
    saliency.add_argument("model", metavar="MODEL", help=(
        "a frozen .pb, a .meta with its checkpoint, a SavedModel folder, an .h5 or .keras file"))
    saliency.add_argument("--image", nargs="+", required=True, metavar="FILE", help=(
        "PNG, JPEG, GIF, BMP or .npy files, folders, or glob patterns"))
    saliency.add_argument("--method", nargs="+", default=["guided_backprop"], metavar="NAME", help=(
        "such as gradient, guided_backprop (the default), smoothgrad, integrated_gradients, grad_cam, occlusion"))
    saliency.add_argument("-o", "--output", required=True, metavar="OUT", help="the folder to write to")
    saliency.add_argument("--class", dest="target", default="top", metavar="N", help=(
        "the class to explain: its number, its name in --labels, or top (the default), each image's own"))
    saliency.add_argument("--labels", metavar="FILE", help="names of the classes, one a line")
    saliency.add_argument("--preprocess", default="none", metavar="HOW", help=(
        "tf, caffe, torch, none (the default: pixels from 0 to 255), or MEAN,STD: 0,255 is from 0 to 1"))
    saliency.add_argument("--size", type=_sizes, metavar="H,W", help="resize to this, where the graph leaves it open")
    saliency.add_argument("--x", metavar="TENSOR", help="the input, where it is not the only one")
    saliency.add_argument("--y", metavar="TENSOR", help="the output, likewise")
    saliency.add_argument("--layer", metavar="TENSOR", help="of grad_cam; default: the last convolution")
    saliency.add_argument("--feed", action="append", metavar="NAME=VALUE", help="a value for another placeholder")
    saliency.add_argument("--samples", type=int, help="of smoothgrad (25) and expected_gradients (200)")
    saliency.add_argument("--spread", type=float, default=0.15, help="of smoothgrad's noise (0.15 of the range)")
    saliency.add_argument("--steps", type=int, default=50, help="of integrated_gradients (50)")
    saliency.add_argument("--baseline", type=float, default=0.0, help=(
        "of integrated_gradients and deeplift, and what occlusion covers with: a value of the preprocessed input (0)"))
    saliency.add_argument("--background", nargs="+", metavar="FILE", help="examples for expected_gradients")
    saliency.add_argument("--window", type=int, help="of occlusion; default: an eighth of the image")
    saliency.add_argument("--stride", type=int, help="of occlusion; default: half the window")
    saliency.add_argument("--seed", type=int, default=0, help="of the noise (0)")
    saliency.add_argument("--max-batch", type=int, metavar="N", help="most examples at once; default: by memory")
    saliency.add_argument("--checkpoint", metavar="PREFIX", help="of a .meta, if it has another name")
    saliency.add_argument("--signature", metavar="NAME", help="of a SavedModel")
    saliency.add_argument("--tags", metavar="TAG", nargs="+", help="of a SavedModel")
    saliency.add_argument("--progress", action="store_true", default=None, help="show a progress bar in any case")
    saliency.set_defaults(do=_saliency)


def _sizes(text):
    height, width = (int(part) for part in text.replace("x", ",").split(","))
    if min(height, width) < 1:
        raise ValueError
    return height, width


def _saliency(arguments):
    from .legacy.activation import import_quietly
    import_quietly().compat.v1.logging.set_verbosity("ERROR")
    from .saliency import command
    return command.run(arguments)


def _run(arguments):
    from .legacy import command
    return command.run(arguments)


def _scan(arguments):
    from .legacy import scan
    return scan.command(arguments)


def _build(arguments):
    from .legacy.activation import import_quietly
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
