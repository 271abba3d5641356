"""Record what TensorFlow 1.15.5 computes for 40 random programs: ``python tests/trust/record_programs.py``, run there.

Writes programs_1_15_5.npz: the programs as JSON, the version, and for each
its results, with both control flows in turn.
"""
import json
import os
import random
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs
from programs import tensorflow, tf

NAMES = ("last", "mean", "gradient of a", "gradient of b", "gradient of w")
HOME = os.path.dirname(os.path.abspath(__file__))


def results_of(program):
    """The results of a program here and now, as an array [5, 2, 3]: see NAMES; NaN for a gradient that is None."""
    with programs.control_flow(program["control_flow"]), tf.Graph().as_default() as graph:
        built = programs.build(program)
        came = programs.run(graph, built.ys + programs.gradients(built), program)
    none = np.full(programs.SHAPE, np.nan, program["dtype"])
    return np.stack([none if array is None else array for array in came])


def main():
    """Draw the programs, run them and write the file."""
    assert tensorflow.__version__ == "1.15.5", "the old results are those of TensorFlow 1.15.5"
    drawn, arrays = [], {}
    for seed in range(40):
        source = random.Random(seed)
        program = programs.draw(source.randrange, programs.SIZES[seed % len(programs.SIZES)], "float64" if seed % 5 == 4 else "float32")
        program["control_flow"] = 1 + seed % 2
        drawn.append(program)
        arrays[str(seed)] = results_of(program)
    np.savez_compressed(os.path.join(HOME, "programs_1_15_5.npz"), programs=np.array(json.dumps(drawn)),
                        tensorflow=np.array(tensorflow.__version__), **arrays)


if __name__ == "__main__":
    main()
