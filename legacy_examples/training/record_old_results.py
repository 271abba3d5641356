"""Remake ../old_results: run every original script on TensorFlow 1.15.5 under the recorder.

    pip install "tensorflow==1.15.5" "protobuf<3.21" "numpy<1.19"     (Python 3.7)
    python record_old_results.py [FOLDER]

Refuses any other TensorFlow: an old result is one that the old TensorFlow computed.
"""
import glob
import os
import subprocess
import sys
from multiprocessing.pool import ThreadPool

EXAMPLES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    import tensorflow
    if tensorflow.__version__ != "1.15.5":
        sys.exit("This is TensorFlow %s; old results are made on 1.15.5." % tensorflow.__version__)
    import importlib.util   # not in Python 2.7, which has been told above
    sys.path.insert(0, os.path.dirname(EXAMPLES))   # the graphgrad beside the examples, or the one that is installed
    package, = importlib.util.find_spec("graphgrad").submodule_search_locations
    recorder = os.path.join(package, "golden", "recorder.py")
    folder = os.path.abspath(sys.argv[1]) if sys.argv[1:] else os.path.join(EXAMPLES, "old_results")
    scripts = [os.path.basename(path) for path in sorted(glob.glob(os.path.join(EXAMPLES, "*.py")))]

    def record(name):
        output = os.path.join(folder, name[:-len(".py")] + ".npz")
        # Of larger arrays, weights that the scripts make or load themselves, a digest and samples.
        subprocess.check_call([sys.executable, recorder, "--max-bytes", "65536", name, "-o", output], cwd=EXAMPLES)

    ThreadPool(2).map(record, [name for name in scripts if not name.endswith("_graphgrad.py")], chunksize=1)


if __name__ == "__main__":
    main()
