"""tf.contrib.image: rotations, translations and projective transforms."""
import math

from .._tf1 import tf


def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Images [batch, height, width, channels], [height, width, channels] or [height, width] by projective transforms [8]."""
    images = tf.convert_to_tensor(images)
    rank = images.get_shape().ndims
    batch = {2: lambda: images[None, :, :, None], 3: lambda: images[None], 4: lambda: images}[rank]()
    matrices = tf.convert_to_tensor(transforms, tf.float32)
    matrices = matrices[None] if matrices.get_shape().ndims == 1 else matrices
    size = tf.shape(batch)[1:3] if output_shape is None else tf.convert_to_tensor(output_shape, tf.int32)
    out = tf.raw_ops.ImageProjectiveTransformV2(images=batch, transforms=matrices, output_shape=size,
                                                interpolation=interpolation.upper(), name=name)
    return {2: lambda: out[0, :, :, 0], 3: lambda: out[0], 4: lambda: out}[rank]()


def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """Transforms [batch, 8] that rotate counterclockwise by angles (radians) about the centre."""
    angles = tf.reshape(tf.convert_to_tensor(angles, tf.float32), [-1])
    cosine, sine = tf.cos(angles), tf.sin(angles)
    x, y = (tf.cast(image_width, tf.float32) - 1) / 2, (tf.cast(image_height, tf.float32) - 1) / 2
    zero = tf.zeros_like(angles)
    return tf.stack([cosine, -sine, x - (cosine * x - sine * y), sine, cosine, y - (sine * x + cosine * y), zero, zero], 1)


def rotate(images, angles, interpolation="NEAREST", name=None):
    """Rotate counterclockwise by angles in radians."""
    images = tf.convert_to_tensor(images)
    rank = images.get_shape().ndims
    shape = tf.shape(images)
    height, width = (shape[1], shape[2]) if rank == 4 else (shape[0], shape[1])
    return transform(images, angles_to_projective_transforms(angles, height, width), interpolation, name=name)


def translate(images, translations, interpolation="NEAREST", name=None):
    """Move by [dx, dy], or [batch, 2] of them."""
    moves = tf.reshape(tf.convert_to_tensor(translations, tf.float32), [-1, 2])
    one, zero = tf.ones_like(moves[:, 0]), tf.zeros_like(moves[:, 0])
    rows = tf.stack([one, zero, -moves[:, 0], zero, one, -moves[:, 1], zero, zero], 1)
    return transform(images, rows, interpolation, name=name)
