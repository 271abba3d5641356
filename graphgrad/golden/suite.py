"""Compare files, a script, or a folder of scripts with old results. Scripts run in processes of their own."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

from ..errors import ResultFileError, UsageError
from ..whole import whole_file
from . import recorder
from .compare import compare
from .page import html_text
from .recording import load
from .report import Report, Row, json_text, junit_text, suite_table

#: A script of this ending is its namesake written with graphgrad, and is compared with the same old result.
TWIN = "_graphgrad"


class Options:
    """How to compare, and what to write.

    Args:
        mapping: {old name: new name}.
        tolerances: {pattern or dtype: (relative, normwise)}.
        any_arguments: whether to compare what was given other arguments.
        replay: whether scripts get the seeds and initial values of then.
        jobs: how many scripts run at once.
        outputs: {"json" | "junit" | "html": path}, reports to write.
        bisect: a Python with the old TensorFlow, to find the first tensor that differs; None not to.
    """

    def __init__(self, mapping=None, tolerances=None, any_arguments=False, replay=True, jobs=1, outputs=None,
                 bisect=None):
        self.mapping = mapping or {}
        self.tolerances = tolerances or {}
        self.any_arguments = any_arguments
        self.replay = replay
        self.jobs = jobs
        self.outputs = outputs or {}
        self.bisect = bisect

    def report(self, title, new, old):
        """Compare two Recordings so."""
        result = compare(new, old, self.mapping, self.tolerances, self.any_arguments)
        return Report(title, result, new, old)

    def write(self, reports):
        """Write the reports that were asked for."""
        for kind, path in self.outputs.items():
            text = {"json": json_text, "junit": junit_text, "html": html_text}[kind](reports)
            try:
                with whole_file(path, encoding="utf-8") as stream:
                    stream.write(text)
            except OSError as error:
                raise UsageError("{} cannot be written: {}.".format(path, error.strerror)) from None


def compare_files(new, old, options):
    """Compare two recordings, print the outcome; returns the exit status."""
    with load(new) as new_recording, load(old) as old_recording:
        return finish(options.report("{} against {}".format(new, old), new_recording, old_recording), options)


def finish(report, options):
    """Print and write one Report; returns the exit status."""
    print(report.text())
    options.write([report])
    return 0 if report.verdict == "same" else 1


def compare_script(script, old, options):
    """Run a script, compare what it computes with an old recording, print the outcome; returns the exit status."""
    from ..legacy.runner import check_script
    check_script(script)
    load(old).close()
    with tempfile.TemporaryDirectory(prefix="graphgrad-") as folder:
        report, output = _run(script, os.path.basename(script), old, folder, options)
        sys.stdout.write(output)
        if options.bisect and report.verdict == "differs":
            report.comparison.notes.append(_bisect(script, report, folder, options))
        status = finish(report, options)
        report.close()
        return status


def _bisect(script, report, folder, options):
    """Run the script on both TensorFlows again, keeping what is between; returns a sentence on where they part."""
    runs = [one.tensor.group for one in report.comparison.differences if one.tensor is not None]
    if not runs or not 0 <= runs[0] < len(report.old.runs):
        return "bisect: what differs first is no result of a run, so there is nothing upstream of it to look at"
    old = os.path.join(folder, "intermediates.npz")
    script, number = os.path.abspath(script), str(runs[0])
    environment = {name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"}   # another TensorFlow's
    command = [options.bisect, recorder.__file__, "--intermediates", number, "-o", old, script]
    try:
        process = subprocess.run(command + list(report.old.meta.get("arguments") or ()), env=environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    except OSError as error:
        raise UsageError("{} cannot be run: {}.".format(options.bisect, error.strerror)) from None
    if process.returncode != 0:
        raise UsageError("{} cannot record {}: {}".format(
            options.bisect, script, process.stderr.strip().split("\n")[-1]))
    found, _ = _run(script, "bisect", old, folder, options, ["--intermediates", number])
    first = next((one for one in found.comparison.differences if one.tensor is not None), None) if (
        found.comparison is not None) else None
    if first is None:
        return "bisect: run anew, the two TensorFlows give the same, so the recording is of another script or machine"
    return "bisect: of {} tensors of run {} that both have, the first that differs is {}".format(
        sum(one.group == runs[0] for one in found.comparison.tensors), number, first)


def compare_folder(folder, options):
    """Run every script of a folder, compare each with its old result, print one table; returns the exit status."""
    results = os.path.join(folder, "old_results")
    scripts = sorted(name for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_"))
    if not scripts:
        raise UsageError("{} holds no script, so there is nothing to compare.".format(folder))
    if not os.path.isdir(results):
        raise UsageError("{} has no folder old_results to compare its scripts with.".format(folder))
    old = {}
    for name in scripts:
        stem = name[:-len(".py")]
        old[name] = os.path.join(results, (stem[:-len(TWIN)] if stem.endswith(TWIN) else stem) + ".npz")
    with tempfile.TemporaryDirectory(prefix="graphgrad-") as temporary:
        progress = _Progress(len(scripts))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            done = [pool.submit(_row, folder, name, old[name], temporary, options, progress) for name in scripts]
            rows, reports, outputs = (list(column) for column in zip(*[future.result() for future in done]))
        progress.end()
        for name in sorted(set(os.listdir(results)) - {os.path.basename(path) for path in old.values()}):
            if name.endswith(".npz"):
                name = "old_results/" + name
                rows.append(Row(name, "no script", text="{}: no script has this name".format(name)))
                reports.append(Report(name, None, failure="no script has this name"))
        options.write(reports)
        for report in reports:
            report.close()
    print(suite_table(rows))
    for row in rows:
        if row.verdict != "same":
            print("\n" + row.text)
    wrote = [line for output in outputs for line in output.splitlines() if line.startswith("wrote ")]
    if wrote:
        print("\n" + "\n".join(wrote))
    same = sum(row.verdict == "same" for row in rows)
    print("\n{} of {} scripts give the same as the old results.".format(same, len(rows)))
    return 0 if same == len(rows) else 1


class _Progress:
    """Says on stderr how far a folder is: a bar on a terminal, a line each elsewhere."""

    def __init__(self, total):
        self._total = total
        self._done = 0

    def say(self, name):
        """One more is done."""
        self._done += 1
        if sys.stderr.isatty():
            full = 30 * self._done // self._total
            sys.stderr.write("\r[{}{}] {}/{} {:<40.40}".format(
                "#" * full, "." * (30 - full), self._done, self._total, name))
        else:
            sys.stderr.write("[{}/{}] {}\n".format(self._done, self._total, name))
        sys.stderr.flush()

    def end(self):
        """Leave the bar's line."""
        if sys.stderr.isatty():
            sys.stderr.write("\n")


def _row(folder, name, old, temporary, options, progress):
    """Run one script of a folder; returns its Row, its Report, and what it printed."""
    try:
        load(old).close()
        report, output = _run(os.path.join(folder, name), name, old, temporary, options)
        verdict = report.verdict
    except (ResultFileError, UsageError) as error:
        report, output, verdict = Report(name, None, failure=str(error)), "", "no old result"
    progress.say(name)
    return Row(name, verdict, report.new.meta if report.new else None, report.comparison, report.text()), report, output


def _run(script, title, old, folder, options, more=()):
    """Run one script under the recorder; returns its Report and what it printed."""
    old_recording = load(old)
    new = os.path.join(folder, os.path.basename(script) + ".npz")
    environment = dict(os.environ)
    environment.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")   # convolutions then round as they did
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    command = [sys.executable, "-m", "graphgrad", "record", "-o", new]
    if options.replay:
        command += ["--replay", old]
        for pair in options.mapping.items():
            command += ["--map", "=".join(pair)]
    command += list(more) + [script] + list(old_recording.meta.get("arguments") or ())
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             env=environment, universal_newlines=True)
    if process.returncode != 0:
        old_recording.close()
        tail = "\n".join("  " + line for line in process.stderr.strip().splitlines()[-5:])
        return Report(title, None, failure="the script failed (exit status {}):\n{}".format(
            process.returncode, tail)), process.stdout
    return options.report(title, load(new), old_recording), process.stdout
