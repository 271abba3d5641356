"""Remake ../old_results: run every original script on TensorFlow 1.15.5 under the recorder.

    pip install "tensorflow==1.15.5" "protobuf<3.21" "numpy<1.19"     (Python 3.7)
    python record_old_results.py

Refuses any other TensorFlow: an old result is one that the old TensorFlow computed.
"""
import glob
import os
import subprocess
import sys

EXAMPLES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORDER = os.path.join("..", "graphgrad", "golden", "recorder.py")


def main():
    import tensorflow
    if tensorflow.__version__ != "1.15.5":
        sys.exit("This is TensorFlow %s; old results are made on 1.15.5." % tensorflow.__version__)
    for script in sorted(glob.glob(os.path.join(EXAMPLES, "*.py"))):
        name = os.path.basename(script)
        if not name.endswith("_graphgrad.py"):
            output = os.path.join("old_results", name[:-len(".py")] + ".npz")
            subprocess.check_call([sys.executable, RECORDER, "-o", output, name], cwd=EXAMPLES)


if __name__ == "__main__":
    main()
