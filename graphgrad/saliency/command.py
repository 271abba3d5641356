"""``graphgrad saliency``: maps of a model in a file, for images in files, as panels, arrays and a gallery."""
import contextlib
import difflib
import io
import os
import re
import sys
import warnings

import numpy as np

from .._tf import tf
from ..errors import OverrideWarning, SaliencyError, UsageError
from ..reasons import reason
from ..whole import whole_file
from . import gallery, images, models, pictures
from .menu import METHODS
from .path import Path
from .progress import Progress
from .stacks import Stacks, batch_for


def run(options):
    """Run the verb; ``options`` is what argparse made of its arguments. Returns the exit status.

    0: every image has its maps; 1: some were skipped, which are named on stderr, and the others are written.

    Raises:
        UsageError, SaliencyError: nothing could be done.
    """
    names = _method_names(options.method)
    paths = images.find(options.image)
    preprocessing = images.Preprocessing(options.preprocess)
    labels = _read_labels(options.labels)
    folder = _writable(options.output)
    with models.load(options.model, options.x, options.y, options.checkpoint, options.signature, options.tags) as model:
        work = _Work(model, options, images.Reader(model.x, preprocessing, options.size), labels, folder)
        try:
            return work.run(names, paths)
        except tf.errors.OpError as error:
            hint = " Give it with --feed NAME=VALUE." if "must feed" in str(error) else ""
            raise SaliencyError("The model cannot be run: {}.{}".format(reason(error), hint)) from None
        finally:
            work.reader.close()


class _Work:
    """One model, its images, and where the maps go."""

    def __init__(self, model, options, reader, labels, folder):
        self.model = model
        self.options = options
        self.reader = reader
        self.labels = labels
        self.folder = folder
        self.feed = _feeds(model, options.feed)
        self.skipped = 0
        self.files = 0
        self._taken = set()

    def run(self, names, paths):
        target, chosen = self._target()
        self.options.background = self._background(names)
        self._say("model {}: {} -> {}".format(self.options.model, _tensor(self.model.x), _tensor(self.model.y)))
        for note in self.model.notes:
            self._say("note: " + note)
        built = [(name, self._build(name, target)) for name in names]
        summary = ["{}\n{}".format(name, _indented(method.describe())) for name, method in built]
        self._say("\n".join(summary))
        examples = self._look_at(paths, chosen)
        if not examples:
            raise SaliencyError("None of the {} could be read.".format(_count(len(paths), "image")))
        for name, method in built:
            self._write_maps(name, method, examples, target)
        self._write_gallery(names, summary, examples)
        self._say("wrote {} for {} to {}: open {}".format(
            _count(self.files, "file"), _count(len(examples), "image"), self.folder,
            os.path.join(self.folder, "index.html")))
        if self.skipped:
            self._complain("{} of {} skipped".format(self.skipped, _count(len(paths), "file")))
        return 1 if self.skipped else 0

    def _build(self, name, target):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OverrideWarning)    # it is said below, in a line
            method = METHODS[name](self.model.y, self.model.x, target, self.options)
        if method.override is not None and not method.overridden:
            self._complain("{} finds nothing on the path that it could override: its gradient is the ordinary "
                           "one".format(name))
        return method

    # The class.

    def _target(self):
        """(target for the methods, class for all images or None for each one's top)."""
        y = self.model.y
        wanted = self.options.target
        if y.shape.ndims != 2:
            if wanted != "top":
                raise UsageError("--class is for outputs [batch, classes], and {} is {}.".format(y.name, y.shape))
            return None, None
        if wanted == "top":
            return "top", None
        if wanted.lstrip("-").isdigit():
            number = int(wanted)
        else:
            number = self._number_of(wanted)
        size = tf.compat.dimension_value(y.shape[1])
        if number < 0 or (size is not None and number >= size):
            raise UsageError("--class {} is out of range: {} has {} classes, counted from 0.".format(
                wanted, y.name, size))
        return "top", number

    def _number_of(self, wanted):
        if self.labels is None:
            raise UsageError("--class {} is a name: give the names with --labels FILE, one a line.".format(wanted))
        lower = [label.lower() for label in self.labels]
        if lower.count(wanted.lower()) == 1:
            return lower.index(wanted.lower())
        close = difflib.get_close_matches(wanted.lower(), lower, n=3)
        raise UsageError("{} has {} {!r}.{}".format(
            self.options.labels, "more than one label" if wanted.lower() in lower else "no label", wanted,
            " Did you mean {}?".format(" or ".join(repr(self.labels[lower.index(c)]) for c in close)) if close else ""))

    def _label(self, number):
        if self.labels is not None and number < len(self.labels):
            return "{} ({})".format(number, self.labels[number])
        return str(number)

    # The images.

    def _background(self, names):
        if "expected_gradients" not in names:
            return None
        if not self.options.background:
            raise UsageError("expected_gradients draws baselines from examples: give some with --background FILE...")
        found = [example for path in images.find(self.options.background) for _, _, example in self.reader.read(path)]
        return np.stack(found)

    def _look_at(self, paths, chosen):
        """Read every file once, skip and name those that cannot be; returns a list of _Example."""
        y = self.model.y
        batch = self.options.max_batch
        batch = batch_for(Path(y, self.model.x)) if batch is None else batch
        stacks = Stacks(self.model.session, self.model.x, self.feed, batch)
        found = []

        def rows():
            for path in paths:
                try:
                    for name, _, example in self.reader.read(path):
                        found.append(_Example(path, name))
                        yield {self.model.x: example}
                except SaliencyError as error:
                    self.skipped += 1
                    self._complain("skipped {}: {}".format(path, error))

        for (scores,), example in zip(stacks.run([y], rows()), _following(found)):
            if y.shape.ndims == 2:
                example.number = int(np.argmax(scores)) if chosen is None else chosen
                example.score = float(scores[example.number])
                example.caption = "{}\nclass {}{}, score {:.4g}".format(
                    example.name, self._label(example.number), " (top)" if chosen is None else "", example.score)
            example.stem = self._stem(example.name)
        return found

    def _stem(self, name):
        path, number = re.match(r"(.*?)(?:\[(\d+)\])?\Z", name, re.S).groups()
        stem = base = os.path.splitext(os.path.basename(path))[0] + ("_" + number if number else "")
        number = 1
        while stem in self._taken:
            number += 1
            stem = "{}-{}".format(base, number)
        self._taken.add(stem)
        return stem

    def _read_again(self, examples):
        """Yield (picture, example) of those that could be read; one at a time, however many a file has."""
        read, found = None, None
        for wanted in examples:
            if wanted.path != read:
                read, found = wanted.path, self.reader.read(wanted.path)
            _, picture, example = next(found)    # a file's examples are all there, in order
            yield picture, example

    # What is written.

    def _write_maps(self, name, method, examples, target):
        shown = []

        def inputs():
            for picture, example in self._read_again(examples):
                shown.append(picture)
                yield example

        classes = [example.number for example in examples] if target == "top" else None
        with Progress(len(examples), self.options.progress) as bar:
            maps = method.stream(self.model.session, inputs(), classes=classes, feed_dict=self.feed,
                                 max_batch=self.options.max_batch, progress=False)
            for number, (example, values) in enumerate(zip(examples, maps)):
                picture = shown.pop(0)
                self._write(example.stem + "." + name + ".npy", _npy(values))
                spatial = 2 if self.reader.takes_images else 0
                plane = pictures.plane(values, spatial, self.reader.channels_first)
                self._write(example.stem + "." + name + ".png", pictures.png(pictures.panel(picture, plane)))
                if hasattr(method, "gap"):
                    example.caption += "\n{}: completeness gap {:.2g}".format(name, method.gap[number])
                bar.step()
        if hasattr(method, "gap"):
            self._say("{}: completeness gap at most {:.2g}".format(name, np.abs(method.gap).max()))

    def _write(self, name, data):
        with self._new_file(name, "wb") as stream:
            stream.write(data)

    @contextlib.contextmanager
    def _new_file(self, name, mode, **options):
        try:
            with whole_file(os.path.join(self.folder, name), mode, **options) as stream:
                yield stream
        except OSError as error:
            raise SaliencyError("{} cannot be written to {}: {}.".format(name, self.folder, error.strerror)) from None
        self.files += 1

    def _write_gallery(self, names, summary, examples):
        def rows():
            for example in examples:
                panels = []
                for name in names:
                    with open(os.path.join(self.folder, "{}.{}.png".format(example.stem, name)), "rb") as stream:
                        panels.append(stream.read())
                yield example.caption, panels

        title = "Saliency of {}".format(os.path.basename(os.path.normpath(self.options.model)))
        with self._new_file("index.html", "w", encoding="utf-8") as stream:
            gallery.write(stream, title, "\n".join(self.model.notes + summary), names, rows())

    @staticmethod
    def _say(text):
        print(text, flush=True)

    @staticmethod
    def _complain(text):
        print("graphgrad saliency: " + text, file=sys.stderr, flush=True)


class _Example:
    """One example: its file, its name, and what the model says of it."""

    def __init__(self, path, name):
        self.path = path
        self.name = name
        self.number = None
        self.score = None
        self.caption = name
        self.stem = None


def _npy(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def _following(growing):
    """Iterate over a list that grows meanwhile."""
    number = 0
    while number < len(growing):
        yield growing[number]
        number += 1


def _method_names(wanted):
    names = [name.replace("-", "_").lower() for name in wanted]
    for name in names:
        if name not in METHODS:
            close = difflib.get_close_matches(name, METHODS, n=3)
            raise UsageError("There is no method {!r}.{} There are {}.".format(
                name, " Did you mean {}?".format(" or ".join(close)) if close else "", ", ".join(METHODS)))
    return sorted(set(names), key=names.index)


def _read_labels(path):
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as stream:
            return [line.strip() for line in stream]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("The labels {} cannot be read: {}.".format(
            path, getattr(error, "strerror", None) or "they are no UTF-8 text")) from None


def _writable(folder):
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder)
        probe = os.path.join(folder, ".graphgrad-{}".format(os.getpid()))
        with open(probe, "wb"):
            pass
        os.remove(probe)
    except OSError as error:
        raise UsageError("The folder {} cannot be written to: {}.".format(folder, error.strerror)) from None
    return folder


def _feeds(model, feeds):
    found = {}
    for feed in feeds or ():
        name, equals, text = feed.partition("=")
        tensor = model.tensor(name)
        try:
            value = {"true": True, "false": False}[text.lower()] if tensor.dtype.is_bool else float(text)
        except (KeyError, ValueError):
            raise UsageError("--feed takes NAME=VALUE, a number or, for a bool, true or false, but got {!r} for a "
                             "{}.".format(feed, tensor.dtype.base_dtype.name)) from None
        found[tensor] = tensor.dtype.as_numpy_dtype(value)
    return found


def _tensor(tensor):
    shape = "[{}]".format(", ".join("?" if n is None else str(n) for n in tensor.shape.as_list())) \
        if tensor.shape.ndims is not None else "of any shape"
    return "{} {}".format(tensor.name, shape)


def _indented(text):
    return "\n".join("  " + line for line in text.split("\n"))


def _count(number, noun):
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")
