"""Image files as what a model takes: found, decoded, resized, preprocessed; arrays as they are."""
import glob
import os

import numpy as np

from .._tf import tf, v1
from ..errors import SaliencyError
from ..reasons import reason
from ..untrusted import UNREADABLE, read_array
from .headers import declared_pixels
from .resize import resize

EXTENSIONS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".npy")
_MOST_PIXELS = 1 << 26           # 8192 x 8192, over all frames: what takes gigabytes to decode is no input of a model
_LUMA = (0.299, 0.587, 0.114)    # ITU-R BT.601, as TensorFlow and PIL have it


def find(patterns):
    """The files that files, folders and glob patterns stand for, in order, each once.

    A file that is named is taken whatever it is called; of a folder or pattern those with a known extension.

    Raises:
        SaliencyError: nothing is there.
    """
    found = []
    for pattern in patterns:
        if os.path.isfile(pattern):
            paths = [pattern]
        elif os.path.isdir(pattern):
            paths = _known(os.path.join(pattern, name) for name in os.listdir(pattern))
        else:
            paths = _known(glob.glob(pattern, recursive=True))
        if not paths:
            raise SaliencyError("There is no image at {} (known are {}).".format(pattern, ", ".join(EXTENSIONS)))
        found += [path for path in paths if path not in found]
    return found


def _known(paths):
    return sorted(path for path in paths if path.lower().endswith(EXTENSIONS) and os.path.isfile(path))


class Preprocessing:
    """How pixels from 0 to 255 become what a model takes.

    Args:
        name: "tf" (from -1 to 1), "caffe" (BGR less the ImageNet means), "torch" (from 0 to 1, less the ImageNet
            means, divided by the deviations), "none", or "MEAN,STD" for (pixel - MEAN) / STD: "0,255" is from 0 to 1.
    """

    def __init__(self, name="none"):
        self.name = name
        self._flip = name == "caffe"
        if name == "none":
            self._mean, self._deviation = 0.0, 1.0
        elif name == "tf":
            self._mean, self._deviation = 127.5, 127.5
        elif name == "caffe":
            self._mean, self._deviation = np.array([103.939, 116.779, 123.68]), 1.0
        elif name == "torch":
            self._mean, self._deviation = (255 * np.array(values) for values in (
                [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
        else:
            self._mean, self._deviation = self._numbers(name)

    @staticmethod
    def _numbers(name):
        try:
            mean, deviation = (float(part) for part in name.split(","))
            if not np.isfinite([mean, deviation]).all() or deviation == 0:
                raise ValueError
        except ValueError:
            raise SaliencyError("Preprocessing is tf, caffe, torch, none, or two numbers MEAN,STD such as 0,255, but "
                                "got {!r}.".format(name)) from None
        return mean, deviation

    def __call__(self, pixels):
        """Preprocess pixels [height, width, channels]."""
        if np.ndim(self._mean) and pixels.shape[-1] != 3:
            raise SaliencyError("Preprocessing {!r} is for 3 channels, and the model takes {}.".format(
                self.name, pixels.shape[-1]))
        return ((pixels[..., ::-1] if self._flip else pixels) - self._mean) / self._deviation


class Reader:
    """Reads files as examples for a tensor.

    Args:
        x: the model's input: its static shape gives size and channels; [batch, channels, height, width] is known by
            its 1, 3 or 4 channels.
        preprocessing: a Preprocessing, for image files; arrays (``.npy``) are taken as they are.
        size: (height, width) to resize to where the graph leaves them open; None: as they come.
    """

    def __init__(self, x, preprocessing, size=None):
        self.x = x
        self.preprocessing = preprocessing
        shape = x.shape.as_list() if x.shape.ndims is not None else [None] * 4
        self._example = shape[1:]
        self.channels_first = len(shape) == 4 and shape[1] in (1, 3, 4) and shape[3] not in (1, 3, 4)
        self.takes_images = len(shape) == 4
        height, width, self._channels = ([shape[i] for i in ((2, 3, 1) if self.channels_first else (1, 2, 3))]
                                         if self.takes_images else [None] * 3)
        self._size = [fixed or given for fixed, given in zip((height, width), size or (None, None))]
        self._session = None

    def read(self, path):
        """Yield (name, picture, example) for each example of a file.

        The picture, for people, is float [height, width, 3] from 0 to 1, or None where the example is no image.

        Raises:
            SaliencyError: it cannot be read, or does not fit the model.
        """
        if path.lower().endswith(".npy"):
            for name, example in self._read_array(path):
                yield name, self._picture_of(example), example
            return
        if not self.takes_images:
            raise SaliencyError("the model takes examples of shape {}, no images: give .npy files".format(
                self.x.shape[1:]))
        pixels = self._fit(self._decode(path))
        example = self.preprocessing(pixels)
        if self.channels_first:
            example = np.moveaxis(example, -1, 0)
        shown = pixels[..., :3] if pixels.shape[-1] >= 3 else np.repeat(pixels[..., :1], 3, -1)
        yield path, shown / 255.0, example.astype(self.x.dtype.as_numpy_dtype)

    def _read_array(self, path):
        try:
            with open(path, "rb") as stream:
                values = read_array(stream, os.path.getsize(path))
            if values.dtype.kind not in "fiub":
                raise ValueError("it holds {}".format(values.dtype))
        except UNREADABLE as error:
            raise SaliencyError("it is no array of numbers: {}".format(str(error).split("\n")[0])) from None
        rank = len(self._example)
        for batch in (values[None], values):
            if batch.ndim == rank + 1 and all(
                    size in (None, got) for size, got in zip(self._example, batch.shape[1:])):
                several = batch is values
                for number, example in enumerate(batch):
                    name = "{}[{}]".format(path, number) if several else path
                    yield name, example.astype(self.x.dtype.as_numpy_dtype)
                return
        raise SaliencyError("its shape is {}, and the model takes examples of {}".format(
            list(values.shape), self.x.shape[1:]))

    def _picture_of(self, example):
        """An array of 1, 3 or 4 channels as a picture, its values stretched from least to largest."""
        if not self.takes_images:
            return None
        pixels = np.moveaxis(example, 0, -1) if self.channels_first else example
        if pixels.shape[-1] not in (1, 3, 4):
            return None
        pixels = pixels[..., :3].astype(np.float64) if pixels.shape[-1] > 1 else np.repeat(pixels, 3, -1)
        low, high = pixels.min(), pixels.max()
        return (pixels - low) / (high - low) if high > low else np.full(pixels.shape, 0.5)

    def _decode(self, path):
        try:
            with open(path, "rb") as stream:
                data = stream.read()
        except OSError as error:
            raise SaliencyError("it cannot be read: {}".format(error.strerror or error)) from None
        pixels = declared_pixels(data)
        if pixels is None:
            raise SaliencyError("it is no whole PNG, JPEG, GIF or BMP file")
        if pixels > _MOST_PIXELS:
            raise SaliencyError("it claims {} pixels, and the most are {}: cut or scale it down".format(
                pixels, _MOST_PIXELS))
        if self._session is None:
            with tf.Graph().as_default() as graph:
                self._data = v1.placeholder(tf.string, [])
                # The default of TF 1.15, channels=None, is as stored; a GIF's first frame is its picture.
                self._decoded = tf.image.decode_image(self._data, expand_animations=False)
            self._session = v1.Session(graph=graph)
        try:
            pixels = self._session.run(self._decoded, {self._data: data})
        except tf.errors.OpError as error:
            raise SaliencyError("it is no whole PNG, JPEG, GIF or BMP file: {}".format(reason(error))) from None
        if pixels.ndim != 3 or not pixels.size:
            raise SaliencyError("it decodes to shape {}, which is no picture".format(list(pixels.shape)))
        return pixels.astype(np.float64)

    def _fit(self, pixels):
        """Pixels with the model's channels and size."""
        has, wants = pixels.shape[-1], self._channels
        colours = 1 if has < 3 else 3      # beside those there may be an alpha channel
        if wants is None:
            wants = colours
        if has != wants:
            if wants == 1:
                pixels = pixels[..., :3].dot(_LUMA)[..., None] if colours == 3 else pixels[..., :1]
            elif wants == 3:
                pixels = pixels[..., :3] if colours == 3 else np.repeat(pixels[..., :1], 3, -1)
            else:
                raise SaliencyError("it has {} channels, and the model takes {}: give .npy files".format(has, wants))
        height, width = (size or old for size, old in zip(self._size, pixels.shape))
        return resize(pixels, (height, width, pixels.shape[-1]))

    def close(self):
        """Close the Session that decodes."""
        if self._session is not None:
            self._session.close()
