"""The verbs ``record`` and ``compare`` of the command line."""
import argparse
import os

from ..errors import UsageError


def add_verbs(verbs):
    """Add them to argparse's sub-commands."""
    record = verbs.add_parser("record", help="the same, keeping what every Session.run returned", usage=(
        "graphgrad record [options] -o OLD.npz SCRIPT [ARGS]\n"
        "       graphgrad record [options] SCRIPT [ARGS] -o OLD.npz"))
    record.add_argument("-o", "--output", help="the file to write; only a whole recording replaces one that is there")
    record.add_argument("--every", type=_positive, default=1, metavar="N", help="keep the values of each N-th run only")
    record.add_argument("--max-bytes", type=_positive, metavar="N", help=(
        "of larger arrays keep a digest and 1000 sampled entries (default 104857600)"))
    record.add_argument("--intermediates", type=int, metavar="RUN", help=(
        "of that run keep every tensor upstream of its fetches too"))
    record.add_argument("--replay", metavar="OLD.npz", help="with the seeds and initial values of that recording")
    record.add_argument("--map", action="append", metavar="OLD=NEW", help="a variable with another name now")
    record.add_argument("script")
    record.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own; a last -o FILE is taken as ours")
    record.set_defaults(do=_record)

    compare = verbs.add_parser("compare", help="run again, or read, and compare with an old result", description=(
        "compare SCRIPT OLD.npz runs the script, with the arguments and the chance of then; compare NEW.npz OLD.npz "
        "reads both; compare MODEL OLD.npz loads an old checkpoint, .meta, frozen .pb, .pbtxt or SavedModel, feeds the "
        "recorded feeds and fetches the recorded fetches; compare FOLDER takes every SCRIPT.py in it with "
        "old_results/SCRIPT.npz (SCRIPT_graphgrad.py with the same)."))
    compare.add_argument("new", help="a script, a recording, a folder, or an old model")
    compare.add_argument("old", nargs="?", help="the old recording")
    compare.add_argument("--map", action="append", metavar="OLD=NEW", help="the name that a tensor or variable has now")
    compare.add_argument("--tolerance", action="append", metavar="NAME=REL,NORM", help=(
        "for a dtype, or the tensors of a name with * and ?: REL * |old| + NORM * max|old|"))
    compare.add_argument("--py-func", action="append", metavar="TOKEN=MODULE:FUNCTION", help=(
        "a Python function that a MODEL calls"))
    compare.add_argument("--any-arguments", action="store_true", help="also if other arguments were given")
    compare.add_argument("--no-replay", action="store_true", help="leave the script its own seeds and initial values")
    compare.add_argument("-j", "--jobs", type=_positive, default=1, metavar="N", help="so many scripts at once")
    compare.add_argument("--bisect", metavar="PYTHON", help=(
        "a Python with the old TensorFlow: if SCRIPT differs, run it there too, and find the first tensor that does"))
    for kind, what in (("json", "JSON"), ("junit", "JUnit XML"), ("html", "a page with pictures")):
        compare.add_argument("--" + kind, metavar="FILE", help="write the report as {} too".format(what))
    compare.set_defaults(do=_compare)


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _is_artefact(path):
    return (path.endswith((".meta", ".pb", ".pbtxt", ".pb.txt")) or os.path.exists(path + ".index")
            or any(os.path.exists(os.path.join(path, "saved_model" + end)) for end in (".pb", ".pbtxt")))


def _compare_artefact(arguments, options):
    from . import suite
    from .recording import load
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")   # convolutions then round as they did
    with load(arguments.old) as old:
        from ..legacy.runner import import_quietly
        import_quietly()
        from .artefacts import compare_artefact
        return suite.finish(compare_artefact(arguments.new, old, options.mapping, options.tolerances,
                                             _mapping(arguments.py_func)), options)


def _mapping(words):
    mapping = {}
    for word in words or ():
        old, equals, new = word.partition("=")
        if not (old and equals and new):
            raise UsageError("A name is given as OLD=NEW; {!r} came.".format(word))
        mapping[old] = new
    return mapping


def _record(arguments):
    from ..legacy import run_script
    from ..legacy.runner import activate, check_script
    from . import recorder
    rest = list(arguments.arguments)
    if arguments.output is None and len(rest) >= 2 and rest[-2] in ("-o", "--output"):
        arguments.output = rest.pop()
        rest.pop()
    if arguments.output is None:
        raise UsageError("record: say where to write, with -o OLD.npz.")
    check_script(arguments.script)
    options = {"every": arguments.every, "max_bytes": arguments.max_bytes or recorder.MAX_BYTES,
               "intermediates": arguments.intermediates}
    if arguments.replay:
        from .recording import load
        from .replay import Replay
        options["replay"] = Replay(load(arguments.replay), _mapping(arguments.map))
    script = os.path.abspath(arguments.script)
    return recorder.record(
        arguments.output, script, lambda: run_script(script, rest), before=activate, arguments=rest, progress=True,
        command=["graphgrad", "record", os.path.basename(script)] + rest, **options)


def _compare(arguments):
    from . import suite
    from .tolerances import parse
    options = suite.Options(_mapping(arguments.map), parse(arguments.tolerance), arguments.any_arguments,
                            not arguments.no_replay, arguments.jobs, {
                                kind: getattr(arguments, kind) for kind in ("json", "junit", "html")
                                if getattr(arguments, kind)}, arguments.bisect)
    if arguments.old is not None and _is_artefact(arguments.new):
        return _compare_artefact(arguments, options)
    if os.path.isdir(arguments.new):
        if arguments.old is not None:
            raise UsageError("compare: a folder is compared with its own old_results, not with {}.".format(
                arguments.old))
        return suite.compare_folder(arguments.new, options)
    if arguments.old is None:
        raise UsageError("compare: {} needs an old recording to be compared with.".format(arguments.new))
    if arguments.new.endswith(".npz"):
        return suite.compare_files(arguments.new, arguments.old, options)
    return suite.compare_script(arguments.new, arguments.old, options)
