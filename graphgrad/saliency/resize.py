"""Linear resizing of a map along each of its axes, in numpy."""
import numpy as np


def resize(values, shape):
    """Resize an array to another shape of the same rank, by linear interpolation between the centres of its cells.

    Half-pixel centres, edges held: what ``tf.image.resize`` does with "bilinear" in TF 2. Returns float64.
    """
    values = np.asarray(values, np.float64)
    for axis, size in enumerate(shape):
        old = values.shape[axis]
        if old != size:
            places = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
            low = np.floor(places).astype(int)
            high = np.minimum(low + 1, old - 1)
            part = (places - low).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
            values = np.take(values, low, axis) * (1 - part) + np.take(values, high, axis) * part
    return values
