"""The parts of tf.contrib that old gradient code uses, written on TensorFlow's 1.x interface with 1.15's names."""
