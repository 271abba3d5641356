"""What import graphgrad adds to import tensorflow.

    python -m tests.benchmarks.bench_import
"""
import subprocess
import sys

from tests.benchmarks._side_by_side import figure, medians


def importing(code):
    return lambda: subprocess.run([sys.executable, "-W", "ignore", "-c", code], stderr=subprocess.DEVNULL)


def main():
    times = medians({"tensorflow": importing("import tensorflow"),
                     "both": importing("import tensorflow, graphgrad; graphgrad.override_gradients; graphgrad.rules"),
                     "none": importing("pass"), "graphgrad": importing("import graphgrad")}, rounds=5)
    figure("import tensorflow and all of graphgrad / import tensorflow", times["both"] / times["tensorflow"], "about 1")
    print("import graphgrad by itself: {:.0f} ms over an empty Python".format(1000 * (times["graphgrad"] - times["none"])))


if __name__ == "__main__":
    main()
