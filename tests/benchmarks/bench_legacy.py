"""Old scripts: start-up of `graphgrad run` against python, what a shim that is not used costs, and scan of 1,000 files.

    python -m tests.benchmarks.bench_legacy

Last numbers (2026-11-21, 2 shared cores, TF 2.21, Python 3.12): see README, "Old scripts, old results".
"""
import os
import subprocess
import sys
import tempfile
import time

from tests.benchmarks._side_by_side import figure, medians

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ntf.placeholder(tf.float32)\n"
NEW = "import tensorflow as tf\ntf.placeholder(tf.float32)\n" if not sys.version_info < (3, 8) else OLD
LOOK_UPS = """
import sys, time
if sys.argv[1] == "on":
    from graphgrad.legacy import activate
    activate()
    import tensorflow as tf
else:
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
nn = tf.nn
def once():
    start = time.perf_counter()
    for _ in range(200000):
        nn.relu
    return time.perf_counter() - start
print(min(once() for _ in range(5)))
"""


def main():
    environment = dict(os.environ, PYTHONPATH=ROOT, TF_CPP_MIN_LOG_LEVEL="3")

    def call(*command):
        return subprocess.run([sys.executable, "-W", "ignore"] + list(command), env=environment, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, text in (("old", OLD), ("new", NEW), ("empty", "pass\n")):
            paths[name] = os.path.join(folder, name + ".py")
            with open(paths[name], "w") as stream:
                stream.write(text)
        times = medians({
            "python": lambda: call(paths["old"]), "run": lambda: call("-m", "graphgrad", "run", paths["new"]),
            "python, no TF": lambda: call(paths["empty"]),
            "run, no TF": lambda: call("-m", "graphgrad", "run", paths["empty"])}, rounds=5)
        figure("graphgrad run, seconds over python, script with TensorFlow", times["run"] - times["python"], "<= 0.3")
        figure("graphgrad run, seconds over python, script without", times["run, no TF"] - times["python, no TF"], "<= 0.3")
        on, off = [min(float(call("-c", LOOK_UPS, word)) for _ in range(3)) for word in ("on", "off")]
        figure("looking a name up with shims that are not used / without", on / off, "1.00")
        source = os.path.join(ROOT, "legacy_examples", "digits_guided_backprop.py")
        with open(source, encoding="utf-8") as stream:
            text = stream.read()
        for number in range(1000):
            with open(os.path.join(folder, "copy_{}.py".format(number)), "w", encoding="utf-8") as stream:
                stream.write(text)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "graphgrad", "scan", folder], env=environment, stdout=subprocess.DEVNULL)
        figure("scan of 1,000 files of {} lines, seconds".format(text.count("\n")), time.perf_counter() - start, "< 10")


if __name__ == "__main__":
    main()
