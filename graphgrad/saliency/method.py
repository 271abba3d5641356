"""What all methods share: built once for a y and an x, then called with a Session and images, in stacks."""
import collections
import contextlib
from typing import Any, Iterable, Iterator, Optional, Sequence

import numpy as np

from .._tf import tf, v1
from .._types import Array, Feed, Session, Tensor, TensorLike
from ..errors import SaliencyError
from ..overrides import Override
from .path import Path
from .progress import Progress
from .stacks import Stacks, batch_for
from .target import Target


class Method:
    """A saliency method, built into the graph of y and x.

    Building adds operations to the graph and changes none. An override is put on the operations between x and y
    for the one call of ``tf.gradients`` and taken off again.

    Args:
        y: a float tensor with the batch as its first axis, such as logits [batch, classes], or a scalar [] (then
            examples are run one at a time, for it may be a mean over them).
        x: a float tensor [batch, ...]: a placeholder, or any tensor that a Session can be fed, such as the
            embeddings of a text or the float image behind a decoder.
        target: the class, neuron or "top" to take of y; see ``Target``. None: y as it is.
        override: an Override for the operations between x and y; None for the ordinary gradients.

    Attributes:
        overridden: dict from op type to the names of the operations whose gradient was overridden.
        not_overridden: dict from op type to the names of the nonlinear operations on the path that were not.

    Raises:
        SaliencyError: y does not depend on x, or no gradient gets there (with the place where it is cut), or
            the target is out of range.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, override: Optional[Override] = None) -> None:
        self.graph = _graph_of(y, x)
        self.x = x
        self.override = override
        with self.graph.as_default(), self.graph.control_dependencies(None), v1.name_scope("graphgrad_saliency"):
            self.target = Target(y, target)
            self.scores = self.target.scores
            self.path = Path(self.scores, x)
            self._batch = batch_for(self.path)
            path = self._through = self.goes_through()
            # Before there is a gradient, which renames loop bodies.
            places, nonlinear = (self.reported(path), path.nonlinearities()) if path is not None else ({}, {})
            self._fetches = self.build()
        self.overridden = self._overridden(places)
        self.not_overridden = _without(nonlinear, self.overridden)

    # What a method says about itself.

    def goes_through(self):
        """The Path whose gradients the map is made of, or None where no gradient is used."""
        return self.path

    def reported(self, path):
        """Dict from op type to places: the operations that ``overridden`` is about."""
        return path.places()

    def build(self):
        """Build what the method needs and return the list of tensors that each row is run for."""
        raise NotImplementedError

    def job(self, image, number):
        """A Job for one example: the points to run and what becomes of their results."""
        raise NotImplementedError

    # For methods to use.

    def differentiate(self, *tensors, **more):
        """The gradients of the scores with respect to tensors, under the override; ``grad_ys`` as of tf.gradients."""
        scope = (self.override.on(self.graph, between=(list(tensors), self.scores)) if self.override is not None
                 else contextlib.ExitStack())
        with scope:
            try:
                gradients = v1.gradients(self.scores, list(tensors), **more)
            except LookupError:
                gradients = [None]
            if any(gradient is None for gradient in gradients):
                raise SaliencyError(self.path.cut())
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    def stacks(self, session, feed_dict, max_batch):
        """The Stacks that rows are run in."""
        return Stacks(session, self.x, feed_dict, max_batch)

    # Running.

    def __call__(self, session: Session, images: TensorLike, classes: Optional[Sequence[int]] = None,
                 feed_dict: Optional[Feed] = None, along: Optional[Feed] = None, max_batch: Optional[int] = None,
                 progress: Optional[bool] = None) -> Array:
        """Return the maps of a batch of examples.

        Args:
            session: a Session of the graph, with its variables initialised or restored.
            images: array [batch, ...] for x.
            classes: with ``target="top"``: the classes to explain instead, one int per example.
            feed_dict: values for other tensors, the same in each run, such as ``{is_training: False}``.
            along: dict from other tensors to arrays with one entry per example, such as the lengths of texts.
            max_batch: the most examples, samples or steps to run at once; halved each time memory runs out. None: as
                many as have a GiB of activations between x and y, at most 64 (32 where shapes are open).
            progress: True or False to show a progress bar on stderr or not; None: when it takes more than a few
                seconds and stderr is a terminal.

        Returns:
            Array of x's dtype, one map per example. Of the examples' shape; Grad-CAM's without the channels.

        Raises:
            SaliencyError: the images do not fit x.
        """
        images = _as_batch(images, self.x)
        if classes is not None and len(classes) != len(images):
            raise SaliencyError("There are {} classes for {} examples.".format(len(classes), len(images)))
        maps = list(self.stream(session, images, classes, feed_dict, along, max_batch, progress))
        return np.stack(maps) if maps else np.zeros(images.shape, images.dtype)

    def stream(self, session: Session, images: Iterable[Any], classes: Optional[Iterable[int]] = None,
               feed_dict: Optional[Feed] = None, along: Optional[Feed] = None, max_batch: Optional[int] = None,
               progress: Optional[bool] = None) -> Iterator[Array]:
        """Yield the map of each example of an iterable, which is read as the maps are taken.

        Memory is bounded by ``max_batch``, whatever the number of examples. Arguments as for a call, but images,
        classes and the values of ``along`` may be any iterables of single examples.
        """
        if self.target.alone and (tf.compat.dimension_value(self.x.shape[0]) or 1) > 1:
            raise SaliencyError(
                "{!r} is one scalar for a batch of {}: give one score per example instead, or load the model with an "
                "open batch size.".format(self.scores.name, self.x.shape[0]))
        if classes is not None and self.target.index is None:
            raise SaliencyError("classes can be given when the method was built with target='top'; it was not.")
        if session.graph is not self.graph:
            raise SaliencyError("The Session is of another graph than {!r}.".format(self.scores.name))
        max_batch = 1 if self.target.alone else self._batch if max_batch is None else max_batch
        examples = self._examples(images, along)
        examples = self._with_classes(Stacks(session, self.x, feed_dict, max_batch), examples, classes)
        stacks = self.stacks(session, feed_dict, max_batch)
        bar = Progress(len(images) if hasattr(images, "__len__") else None, progress)
        jobs = collections.deque()

        def rows():
            for number, (image, more) in enumerate(examples):
                job = self.job(image, number)
                jobs.append(job)
                for point in job.points():
                    row = dict(more)
                    row[self.x] = point
                    yield row

        with bar:
            for results in stacks.run(self._fetches, rows()):
                if jobs[0].add(*results):
                    yield self._cast(jobs.popleft().map())
                    bar.step()

    def _cast(self, values):
        return np.asarray(values, self.x.dtype.as_numpy_dtype)

    def _examples(self, images, along):
        """Yield (image, {other tensor: its value}) per example, checked against x."""
        others = [(tensor, iter(values)) for tensor, values in (along or {}).items()]
        for number, image in enumerate(images):
            more = {}
            for tensor, values in others:
                try:
                    more[tensor] = next(values)
                except StopIteration:
                    raise SaliencyError("along has only {} values for {!r}, and there are more examples.".format(
                        number, tensor.name)) from None
            yield _as_example(image, self.x), more

    def _with_classes(self, stacks, examples, classes):
        """Fix each example's class before samples are taken around it."""
        index = self.target.index
        if index is None:
            return examples
        if classes is not None:
            return self._with_given(examples, classes)
        return self._with_top(stacks, examples)

    def _with_given(self, examples, classes):
        for (image, more), chosen in zip(examples, classes):
            more[self.target.index] = np.int32(chosen)
            yield image, more

    def _with_top(self, stacks, examples):
        waiting = collections.deque()

        def rows():
            for image, more in examples:
                waiting.append((image, more))
                row = dict(more)
                row[self.x] = image
                yield row

        for top, in stacks.run([self.target.index], rows()):
            image, more = waiting.popleft()
            more[self.target.index] = top
            yield image, more

    # Reporting.

    def _overridden(self, places):
        if self.override is None:
            return {}
        report = self.override.report
        passed_by = getattr(report, "uncovered", {})    # a Maximum that is no rectifier
        took = {entry.key: set(entry.differentiated) - set(passed_by.get(entry.key, ())) for entry in report}
        return {key: [place for place in places[key] if place in took[key]] for key in took
                if not took[key].isdisjoint(places.get(key, ()))}

    def describe(self) -> str:
        """A line or two: what was overridden, and which nonlinear operations on the path were not."""
        if self._through is None:
            return "no gradient is used"
        lines = ["overridden: " + (_counted(self.overridden) or "nothing")]
        if self.not_overridden:
            lines.append("nonlinear on the path, with their ordinary gradient: " + _counted(self.not_overridden))
        return "\n".join(lines)


class Job:
    """One example's work where its map is a function of one run at the example itself."""

    def __init__(self, image, finish):
        self.image = image
        self._finish = finish
        self._results = None

    def points(self):
        """Yield what x is fed."""
        yield self.image

    def add(self, *results):
        """Take the results of the next point; returns whether it was the last one."""
        self._results = results
        return True

    def map(self):
        """The map."""
        return self._finish(self.image, *self._results)


def _graph_of(y, x):
    for name, tensor in (("y", y), ("x", x)):
        if not tf.is_tensor(tensor) or not hasattr(tensor, "graph") or hasattr(tensor, "numpy"):
            raise SaliencyError(
                "{} must be a tensor of a graph, but got {!r}. For a Keras model or a file, "
                "model = graphgrad.saliency.load(model_or_path) has model.y and model.x.".format(name, tensor))
    if y.graph is not x.graph:
        raise SaliencyError("{!r} and {!r} are of different graphs.".format(y.name, x.name))
    if y.graph.finalized:
        raise SaliencyError("The graph is finalized, so no gradient can be added to it: build the method before.")
    if x.shape.ndims == 0:
        raise SaliencyError("x must have the batch as its first axis, but {!r} is a scalar.".format(x.name))
    return y.graph


def _as_batch(images, x):
    try:
        images = np.asarray(images, x.dtype.as_numpy_dtype)
    except (TypeError, ValueError):
        raise SaliencyError("The images are no array of numbers: {!r}.".format(type(images))) from None
    if x.shape.ndims is not None and images.ndim == x.shape.ndims - 1:
        raise SaliencyError("The images must have a batch axis, like {!r} with {}, but got {}; for one example give "
                            "image[None].".format(x.name, x.shape, list(images.shape)))
    if images.ndim == 0:
        raise SaliencyError("The images must be an array [batch, ...], but got a number.")
    return images


def _as_example(image, x):
    image = np.asarray(image, x.dtype.as_numpy_dtype)
    if x.shape.ndims is not None and not x.shape[1:].is_compatible_with(image.shape):
        raise SaliencyError("{!r} takes examples of shape {}, but got one of {}.".format(
            x.name, x.shape[1:], list(image.shape)))
    return image


def _without(places, others):
    left = {key: [place for place in found if place not in others.get(key, ())] for key, found in places.items()}
    return {key: found for key, found in left.items() if found}


def _counted(names):
    return ", ".join("{} ({})".format(key, len(found)) for key, found in names.items())
