"""Compare two arrays of one shape and dtype, block by block, so that nothing larger than they is ever made."""
import numpy as np

_BLOCK = 1 << 17


class Outcome:
    """How two arrays differ.

    Attributes:
        ratio: the largest difference as a multiple of what is allowed; 0 for the same values.
        wrong: how many values differ by more than is allowed.
        index: tuple, where the ratio is largest; None if nothing differs.
        allowed: what is allowed there.
        odd: index of the first NaN or infinity that is not in both; None if there is none.
        largest: the largest absolute difference.
    """

    def __init__(self):
        self.ratio = 0.0
        self.wrong = 0
        self.index = None
        self.allowed = 0.0
        self.odd = None
        self.largest = 0.0


def compare_values(new, old, tolerance, largest=None):
    """Compare arrays of one shape and dtype.

    Args:
        new: array.
        old: array.
        tolerance: (relative to each old value, relative to the largest absolute old value); None for equality.
        largest: the largest absolute old value, where ``old`` is a sample.

    Returns:
        An Outcome.
    """
    outcome = Outcome()
    shape, new, old = old.shape, new.ravel(), old.ravel()
    blocks = [slice(start, start + _BLOCK) for start in range(0, old.size, _BLOCK)]
    differing = [block for block in blocks if not (new[block] == old[block]).all()]
    if not differing:
        return outcome
    if tolerance is None:
        _compare_exactly(outcome, new, old, differing)
    else:
        if largest is None:
            largest = max(_largest(old[block]) for block in blocks)
        with np.errstate(all="ignore"):
            for block in differing:
                if not _compare_block(outcome, new, old, block, tolerance, largest):
                    break
    for name in ("index", "odd"):
        place = getattr(outcome, name)
        if place is not None:
            setattr(outcome, name, tuple(int(i) for i in np.unravel_index(place, shape)))
    return outcome


def _largest(block):
    sizes = np.abs(block)
    largest = sizes.max()
    return float(largest if np.isfinite(largest) else np.where(np.isfinite(sizes), sizes, 0).max())


def _compare_exactly(outcome, new, old, blocks):
    outcome.ratio = float("inf")
    for block in blocks:
        wrong = new[block] != old[block]
        if outcome.index is None:
            outcome.index = block.start + int(np.argmax(wrong))
        outcome.wrong += int(wrong.sum())
        if old.dtype.kind != "b":
            steps = np.abs(new[block].astype(np.float64) - old[block].astype(np.float64))
            outcome.largest = max(outcome.largest, float(steps.max()))


def _compare_block(outcome, new, old, block, tolerance, largest):
    """Take one block into account; False if a NaN or an infinity makes the rest not worth looking at."""
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    new, old = new[block].astype(wide), old[block].astype(wide)
    odd = ~(np.isfinite(old) & np.isfinite(new))
    if odd.any():
        other = odd & ~((np.isnan(old) & np.isnan(new)) | (new == old))
        if other.any():
            outcome.odd = block.start + int(np.argmax(other))
            outcome.ratio = float("inf")
            return False
        new, old = np.where(odd, 0, new), np.where(odd, 0, old)
    error = np.abs(new - old)
    allowed = tolerance[0] * np.abs(old) + tolerance[1] * largest
    ratio = np.where(error == 0, 0.0, error / allowed)   # an error where nothing is allowed: infinite
    place = int(np.argmax(ratio))
    outcome.wrong += int((ratio > 1).sum())
    outcome.largest = max(outcome.largest, float(error.max()))
    if ratio[place] > outcome.ratio:
        outcome.ratio, outcome.index = float(ratio[place]), block.start + place
        outcome.allowed = float(allowed[place])
    return True
