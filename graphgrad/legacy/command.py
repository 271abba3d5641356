"""``graphgrad run``: a script as python would run it, and the diagnosis after it."""
import os
import re
import sys
import threading
import traceback
import types

from ..errors import UsageError
from ..whole import whole_file
from . import activation, catalogue, runner


def run(options):
    """Run a script or module; returns its exit status, or raises the SystemExit that it raised.

    Args:
        options: of the command line: script, arguments, module, shims, json, tf2_seeds, no_py2.

    Raises:
        UsageError: there is nothing to run.
    """
    if options.json is not None and not os.path.isdir(os.path.dirname(os.path.abspath(options.json))):
        raise UsageError("The folder of {} is not there.".format(options.json))
    translate = not options.no_py2
    arguments = options.arguments
    if not options.module:
        runner.check_script(options.script, translate)
    activation.activate(tf2_seeds=options.tf2_seeds, python2=translate)
    watches = []
    activation.when_complete(lambda: watches.append(_watch()))
    try:
        if options.module:
            runner.run_module(options.script, arguments, keep=True, translate=translate)
        else:
            runner.run_script(options.script, arguments, keep=True, translate=translate)
        return 0
    except UsageError:
        raise
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        _note_missing_operations(error)
        _show(error)
        return 1
    finally:
        _wait_for_threads()
        try:
            sys.stdout.flush()
        finally:
            if watches:
                _tell(watches[0].diagnosis(), options)
            if options.shims:
                for entry in catalogue.USED.values():
                    print("graphgrad: supplied {}".format(entry), file=sys.stderr)


def _note_missing_operations(error):
    """An old graph with an operation that this TensorFlow has not: said with its name."""
    found = re.search(r"Op type not registered '(\w+)'|No op named (\w+) in defined operations", str(error))
    if found:
        catalogue.note("The operation {} is missing: it is a custom one, or gone from TensorFlow. If it is custom, load "
                       "its library first: gg.load_op_library, or graphgrad build SOURCE.cc.".format(
                           found.group(1) or found.group(2)))


def _watch():
    from .diagnosis import Watch
    return Watch().__enter__()


def _tell(diagnosis, options):
    if options.json is not None:
        try:
            with whole_file(options.json, encoding="utf-8") as stream:
                stream.write(diagnosis.to_json() + "\n")
        except OSError as error:
            print("graphgrad: {} cannot be written: {}.".format(options.json, error.strerror), file=sys.stderr)
        return
    for line in str(diagnosis).splitlines():
        print("graphgrad: " + line, file=sys.stderr)


def _wait_for_threads():
    """Python waits for threads when a script ends; what they build belongs to the diagnosis."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _show(error):
    """The traceback as python prints it: without our frames, of the error and of those that it came from."""
    link = error
    while link is not None:
        link.__traceback__ = _without_ours(link.__traceback__)
        link = link.__cause__ or link.__context__
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, error.__traceback__)
    else:
        traceback.print_exception(type(error), error, error.__traceback__)


def _without_ours(trace):
    if trace is None:
        return None
    rest = _without_ours(trace.tb_next)
    if _is_ours(trace.tb_frame.f_code.co_filename):
        return rest
    return types.TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _is_ours(path):
    return os.path.abspath(path).startswith(os.path.dirname(os.path.abspath(__file__)) + os.sep)

