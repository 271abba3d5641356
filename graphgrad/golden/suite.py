"""Compare files, a script, or a folder of scripts with old results. Scripts run in processes of their own."""
import os
import subprocess
import sys
import tempfile

from ..errors import ResultFileError, UsageError
from .compare import compare, load
from .report import Row, comparison_text, suite_table

#: A script of this ending is its namesake written with graphgrad, and is compared with the same old result.
TWIN = "_graphgrad"


class Options:
    """How to compare: names, tolerances, whether other arguments matter, whether to replay chance, how many at once."""

    def __init__(self, mapping=None, tolerances=None, any_arguments=False, replay=True, jobs=1):
        self.mapping = mapping
        self.tolerances = tolerances
        self.any_arguments = any_arguments
        self.replay = replay
        self.jobs = jobs

    def compare(self, new, old):
        """Compare two Recordings so."""
        return compare(new, old, self.mapping, self.tolerances, self.any_arguments)


def compare_files(new, old, options):
    """Compare two recordings, print the outcome; returns the exit status."""
    result = options.compare(load(new), load(old))
    print(comparison_text(result, "{} against {}".format(new, old)))
    return 0 if result.same else 1


def compare_script(script, old, options):
    """Run a script, compare what it computes with an old recording, print the outcome; returns the exit status."""
    from ..legacy.runner import check_script
    check_script(script)
    load(old)
    with tempfile.TemporaryDirectory(prefix="graphgrad-") as folder:
        row, output = _run_row(script, os.path.basename(script), old, folder, options)
    sys.stdout.write(output)
    print(row.text)
    return 0 if row.verdict == "same" else 1


def compare_folder(folder, options):
    """Run every script of a folder, compare each with its old result, print one table; returns the exit status."""
    results = os.path.join(folder, "old_results")
    scripts = sorted(name for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_"))
    if not scripts:
        raise UsageError("{} holds no script, so there is nothing to compare.".format(folder))
    if not os.path.isdir(results):
        raise UsageError("{} has no folder old_results to compare its scripts with.".format(folder))
    rows, wrote, used = [], [], set()
    with tempfile.TemporaryDirectory(prefix="graphgrad-") as temporary:
        for number, name in enumerate(scripts):
            print("[{}/{}] {}".format(number + 1, len(scripts), name), file=sys.stderr)
            stem = name[:-len(".py")]
            old = os.path.join(results, (stem[:-len(TWIN)] if stem.endswith(TWIN) else stem) + ".npz")
            used.add(os.path.basename(old))
            row, output = _run_row(os.path.join(folder, name), name, old, temporary, options)
            rows.append(row)
            wrote += [line for line in output.splitlines() if line.startswith("wrote ")]
    for name in sorted(set(os.listdir(results)) - used):
        if name.endswith(".npz"):
            name = "old_results/" + name
            rows.append(Row(name, "no script", text="{}: no script has this name".format(name)))
    print(suite_table(rows))
    for row in rows:
        if row.verdict != "same":
            print("\n" + row.text)
    if wrote:
        print("\n" + "\n".join(wrote))
    same = sum(row.verdict == "same" for row in rows)
    print("\n{} of {} scripts give the same as the old results.".format(same, len(rows)))
    return 0 if same == len(rows) else 1


def _run_row(script, name, old, folder, options):
    """Run one script under the recorder; returns its Row and what it printed."""
    try:
        old_recording = load(old)
    except ResultFileError as error:
        return Row(name, "no old result", text="{}: {}".format(name, error)), ""
    new = os.path.join(folder, os.path.basename(script) + ".npz")
    environment = dict(os.environ)
    environment.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")   # convolutions then round as they did
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    command = [sys.executable, "-m", "graphgrad", "record", "-o", new]
    if options.replay:
        command += ["--replay", old]
        for pair in (options.mapping or {}).items():
            command += ["--map", "=".join(pair)]
    command += [script] + list(old_recording.meta.get("arguments") or ())
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             env=environment, universal_newlines=True)
    if process.returncode != 0 or not os.path.exists(new):
        tail = "\n".join("  " + line for line in process.stderr.strip().splitlines()[-5:])
        return Row(name, "failed", text="{}: the script failed (exit status {}):\n{}".format(
            name, process.returncode, tail)), process.stdout
    recording = load(new)
    result = options.compare(recording, old_recording)
    text = comparison_text(result, name)
    return Row(name, "same" if result.same else "differs", recording.meta, result, text), process.stdout
