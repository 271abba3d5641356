"""Guided backprop of a Keras model: the question's network, and its two answers.

The first answer registers a gradient and puts the map around "the code for computing the gradient". A tape never
looks at it: the result is the ordinary gradient, to the last bit, and no word is said. The second answer rewrites every
activation of the model with tf.custom_gradient, which works, for that model, and changes it for good.
"""
import numpy as np
import tensorflow as tf

layers, models = tf.keras.layers, tf.keras.models
SIZE = 32


class Seeded(tf.keras.initializers.Initializer):
    """The same weights in every TensorFlow: numpy's, by number."""

    count = 0

    def __call__(self, shape, dtype=None, **more):
        Seeded.count += 1
        values = np.random.RandomState(Seeded.count).randn(*[int(size) for size in shape])
        return tf.constant((values * np.sqrt(2.0 / np.prod([int(s) for s in shape[:-1]]))).astype(np.float32))


def network():
    image_input = y = layers.Input((SIZE, SIZE, 3))
    for filters, pool in [(32, True), (64, True), (64, True), (128, False), (128, True), (128, False), (128, False)]:
        y = layers.Conv2D(filters, (3, 3), padding='SAME', kernel_initializer=Seeded())(y)
        y = layers.BatchNormalization()(y)
        y = layers.Activation('relu')(y)
        if pool:
            y = layers.MaxPool2D((2, 2))(y)
    y = layers.Flatten()(y)
    y = layers.Dense(64, activation='relu', kernel_initializer=Seeded())(y)
    y = layers.BatchNormalization()(y)
    y = layers.Dense(32, activation='relu', kernel_initializer=Seeded())(y)
    y = layers.Dropout(0.5)(y)
    output = layers.Dense(2, activation='softmax', kernel_initializer=Seeded())(y)
    return models.Model(inputs=image_input, outputs=output)


def gradient(model, images, name):
    with tf.GradientTape() as tape:
        tape.watch(images)
        score = model(images, training=False)[:, 1]
    return tf.identity(tape.gradient(score, images), name=name)


# Answer 1.

@tf.RegisterGradient("GuidedRelu")
def _GuidedReluGrad(op, grad):
    gate_f = tf.cast(op.outputs[0] > 0, "float32")  # for f^l > 0
    gate_R = tf.cast(grad > 0, "float32")  # for R^l+1 > 0
    return gate_f * gate_R * grad


# Answer 2.

@tf.custom_gradient
def guidedRelu(x):
    def grad(dy):
        return tf.cast(dy > 0, "float32") * tf.cast(x > 0, "float32") * dy
    return tf.nn.relu(x), grad


if __name__ == "__main__":
    image = np.random.RandomState(0).rand(1, SIZE, SIZE, 3).astype(np.float32)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        images = tf.constant(image)
        model = network()
        ordinary = gradient(model, images, "ordinary")
        with graph.gradient_override_map({'Relu': 'GuidedRelu'}):
            answer_1 = gradient(model, images, "answer_1")
        for layer in [layer for layer in model.layers[1:] if hasattr(layer, 'activation')]:
            if layer.activation == tf.keras.activations.relu:
                layer.activation = guidedRelu
        answer_2 = gradient(model, images, "answer_2")
        session.run(tf.compat.v1.global_variables_initializer())
        ordinary, answer_1, answer_2 = session.run([ordinary, answer_1, answer_2])
    print("answer 1 is the ordinary gradient:", bool((answer_1 == ordinary).all()))
    print("answer 2 differs from it by", np.abs(answer_2 - ordinary).max(), "of", np.abs(ordinary).max())
