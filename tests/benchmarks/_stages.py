"""Two sides that do the same work, measured stage by stage and beside each other.

A side is a generator function of a size. It yields ``GIVEN`` when it has what the work starts from, which is not
measured; the name of each stage when that is done; and last ``(run, numbers)``: a function that runs the work once,
and one that returns what it computes.
"""
import concurrent.futures
import gc
import math
import multiprocessing
import statistics
import sys
import time

import numpy as np

GIVEN, SET_UP, GRADIENTS, RUN = "given", "set-up", "tf.gradients", "run"
COLUMNS = SET_UP, GRADIENTS, RUN
TURNS = 3, 25            # how often each side is measured, at least and at most
ENOUGH, MUCH = 2.0, 60.0 # seconds, after which it is not measured more often: if it was the least times, and anyway
LONG_ENOUGH = 0.03       # seconds: what runs for less is run several times
ROUNDING = 1e-5          # of the largest number: how far float32 sides may be apart
MEASURABLE = 1.0         # MB
#: What the processes whose memory is measured are forked with, where it is installed.
IMPORTED = ["graphgrad.overrides", "larq", "saliency.tf1", "tf_keras_vis.saliency", "lucid.misc.gradient_override"]


class Comparison:
    """Two sides, and how to show them.

    Attributes:
        title: whose, and what.
        unit: what sizes count.
        sizes: small, middle, large.
        sides: {"ours": side, "theirs": side}.
        grows: the stages whose growth with the size is shown.
    """

    def __init__(self, title, unit, sizes, ours, theirs, grows=(RUN,)):
        self.title = title
        self.unit = unit
        self.sizes = sizes
        self.sides = {"ours": ours, "theirs": theirs}
        self.grows = grows


def row(make, sizes=None):
    """Measure a comparison and return its line of the table; the absolute figures go to stderr.

    Args:
        make: a function of a module, without arguments, that makes the Comparison; other processes call it as well.
        sizes: the sizes to measure; by default all.
    """
    comparison = make()
    sizes = sizes or comparison.sizes
    seconds_in_turn(comparison, sizes[0], (1, 1))   # to warm up
    seconds, megabytes = [], []
    for size in sizes:
        seconds.append(seconds_in_turn(comparison, size))
        megabytes.append({side: peak(make, side, size) for side in comparison.sides})
        print(_absolute(comparison, size, seconds[-1], megabytes[-1]), file=sys.stderr, flush=True)
    cells = [_ratios([{side: taken[side].get(stage, 0) for side in taken} for taken in seconds]) for stage in COLUMNS]
    cells.append(_ratios([sides if max(sides.values()) >= MEASURABLE else {} for sides in megabytes]))
    cells.append("; ".join(_growth(sizes, [sum(taken[side][stage] for stage in comparison.grows) for taken in seconds])
                           for side in comparison.sides))
    return "| {} | {} {} | {} |".format(
        comparison.title, ", ".join(map(_written, sizes)), comparison.unit, " | ".join(cells))


def seconds_in_turn(comparison, size, turns=TURNS):
    """{side: {stage: median seconds}}, the sides in turn, each first in every other turn.

    Raises:
        AssertionError: the sides do not compute the same numbers.
    """
    taken = {side: [] for side in comparison.sides}
    least, most = turns
    begun = time.perf_counter()
    for turn in range(most):
        if turn and time.perf_counter() - begun > (ENOUGH if turn >= least else MUCH):
            break
        numbers = {}
        for side in sorted(comparison.sides, reverse=turn % 2):
            gc.collect()   # what one side leaves behind is not to be cleared in the time of the next
            seconds, run, numbers_of = _through(comparison.sides[side](size))
            numbers[side] = numbers_of()
            run()   # to warm up
            start = time.perf_counter()
            run()
            times = max(1, int(LONG_ENOUGH / (time.perf_counter() - start)))
            start = time.perf_counter()
            for _ in range(times):
                run()
            seconds[RUN] = (time.perf_counter() - start) / times
            taken[side].append(seconds)
        for ours, theirs in zip(numbers["ours"], numbers["theirs"]):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDING * np.abs(theirs).max(), err_msg=comparison.title)
    return {side: {stage: statistics.median(seconds[stage] for seconds in measured) for stage in measured[0]}
            for side, measured in taken.items()}


def peak(make, side, size):
    """MB by which the resident memory of a process grows at most while a side does its work and runs once.

    The process is forked from one that has imported things and built nothing, and warms up at the small size.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_peak, make, side, size).result()


def _peak(make, side, size):
    comparison = make()
    _through(comparison.sides[side](comparison.sizes[0]))[1]()
    gc.collect()
    work = comparison.sides[side](size)
    assert next(work) == GIVEN
    gc.collect()
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")   # the peak begins anew
    before = _megabytes("VmRSS")
    _through(work)[1]()
    return _megabytes("VmHWM") - before


def _megabytes(name):
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) / 1024.0 for line in stream if line.startswith(name))


def _through(work):
    """Take a side through its stages: ({stage: seconds}, run, numbers)."""
    seconds = {}
    start = time.perf_counter()
    for reached in work:
        if isinstance(reached, tuple):
            return (seconds,) + reached
        if reached != GIVEN:
            seconds[reached] = time.perf_counter() - start
        start = time.perf_counter()


def _absolute(comparison, size, seconds, megabytes):
    """What was measured at one size, ours / theirs."""
    stages = ["{} {:.4g} / {:.4g} ms".format(stage, ours * 1e3, seconds["theirs"][stage] * 1e3)
              for stage, ours in seconds["ours"].items()]
    return "{}, {:,} {}: {}; peak {ours:.1f} / {theirs:.1f} MB".format(
        comparison.title, size, comparison.unit, ", ".join(stages), **megabytes)


def _ratios(pairs):
    """Ours / theirs at each size; a dash where there is nothing to measure."""
    cells = ["{:.2f}".format(pair["ours"] / pair["theirs"]) if pair.get("theirs") else "–" for pair in pairs]
    return "–" if set(cells) == {"–"} else ", ".join(cells)


def _growth(sizes, taken):
    """By how much what is taken grows if the size grows tenfold, from the middle size to the large; a dash if alone."""
    if len(sizes) < 2:
        return "–"
    return "{:.1f}".format((taken[-1] / taken[-2]) ** (1 / math.log10(sizes[-1] / sizes[-2])))


def _written(size):
    """A size in few signs: 1, 32, 1e3, 4e6."""
    return str(size) if size < 1000 else "{:.0e}".format(size).replace("e+0", "e")
