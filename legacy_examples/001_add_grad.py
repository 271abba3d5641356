"""Override Tensorflow Backward-Propagation (seed 001): the simple network with add_grad, in the blog's spelling.

What its backprop_func computes, checked here by central differences: the function is e = c + k, whose gradients
are (grad, grad, 0) for (c, k, d). The blog returns ((e + d) * grad, d * grad, e * grad): those are the derivatives of
a = d * e with d = b + c, that is of the two operations *behind* add_grad. As the network multiplies by d itself, they
are applied twice, and c's path through d is counted in both. Training moves, but not down the loss's gradient.
The right formulas are beside them, and the network is trained with both.
"""
import numpy as np
import tensorflow as tf

STEPS = 5
C, K = np.array([0.05, -0.1], np.float32), np.array([0.15, 0.02], np.float32)


def py_func(func, inp, Tout, graph, stateful=True, name=None, grad=None):
    # Need to generate a unique name to avoid duplicates
    # if you have more than one custom gradients:
    rnd_name = 'PyFuncGrad' + str(np.random.randint(0, 1E+8))

    tf.RegisterGradient(rnd_name)(grad)
    with graph.gradient_override_map({"PyFunc": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def forward_func(c, k, d):
    e = np.add(c, k)
    return e.astype(np.float32)


def backprop_func(op, grad):
    c = op.inputs[0]
    k = op.inputs[1]
    d = op.inputs[2]
    e = tf.add(c, k)
    return (e + d) * grad, d * grad, e * grad


def right_backprop_func(op, grad):
    return grad, grad, tf.zeros_like(op.inputs[2])


def add_grad(c, k, d, graph, backprop, name=None):
    with tf.name_scope(name, "AddGrad", [c, k, d]) as name:
        return py_func(forward_func, [c, k, d], [np.float32], graph, name=name, grad=backprop)


def train(backprop):
    """Train as the blog does; print the gradients, the loss of each step and the weights."""
    graph = tf.Graph()
    with graph.as_default(), tf.Session(graph=graph) as sess:
        labels_ph = tf.placeholder(shape=(2), dtype=tf.int32)
        b_ph = tf.placeholder(shape=(2), dtype=tf.float32)
        c = tf.Variable(C)
        k = tf.Variable(K)
        d = tf.add(b_ph, c)
        e = tf.add(c, k) if backprop is None else add_grad(c, k, d, graph, backprop)
        a = tf.multiply(d, tf.reshape(e, [2]))
        loss = tf.losses.softmax_cross_entropy(logits=a, onehot_labels=labels_ph)
        opt = tf.train.AdamOptimizer(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=0.1)
        grads = opt.compute_gradients(loss, tf.trainable_variables())
        grads = list(grads)
        train_op = opt.apply_gradients(grads_and_vars=grads)
        feed = {labels_ph: [0, 1], b_ph: [1, 2]}
        sess.run(tf.global_variables_initializer())
        gradients = sess.run([grad for grad, _ in grads], feed)
        losses = [sess.run([loss, train_op], feed)[0] for _ in range(STEPS)]
        sess.run([c, k])
        return gradients, losses


def loss_of(c, k):
    """The network in numpy, float64: for central differences."""
    a = (np.array([1., 2.]) + c) * (c + k)
    return np.log(np.exp(a).sum()) - a[1]


def central_differences(h=1e-6):
    c, k = C.astype(np.float64), K.astype(np.float64)
    eye = np.eye(2) * h
    return [np.array([(loss_of(c + u, k) - loss_of(c - u, k)) / (2 * h) for u in eye]),
            np.array([(loss_of(c, k + u) - loss_of(c, k - u)) / (2 * h) for u in eye])]


if __name__ == "__main__":
    print("central differences    d/dc %s d/dk %s" % tuple(central_differences()))
    for title, backprop in (("plain tf.add", None), ("blog's backprop_func", backprop_func),
                            ("right formulas", right_backprop_func)):
        gradients, losses = train(backprop)
        print("%-22s d/dc %s d/dk %s losses %s" % (title, gradients[0], gradients[1], losses))
