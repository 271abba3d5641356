"""Time functions in turn, A B C A B C ..., and print ratios of their medians: machines drift, ratios less so."""
import gc
import statistics
import time


def medians(functions, rounds=7):
    """Median seconds of each function of a dict, the functions run in turn, after one turn to warm up."""
    times = {name: [] for name in functions}
    for turn in range(rounds + 1):
        for name, function in functions.items():
            gc.collect()   # what one function leaves behind is not to be cleared in the time of the next
            start = time.perf_counter()
            function()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def figure(title, ratio, wanted):
    """Print one line: what, how much, what is wanted."""
    print("{:<72} {:6.2f}   wanted {}".format(title, ratio, wanted), flush=True)
