"""Which operations are nonlinear: what a rule for activations may have left to its own gradient."""

#: Activations of one input that TensorFlow has a gradient for. crelu is Neg, ConcatV2 and Relu.
RECTIFIERS = ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign")
#: Steps, with a gradient of zero or none.
STEPS = ("Sign", "Round", "Rint", "Floor", "Ceil")
#: What else an activation is made of, element by element: hard and soft clips, a swish's Sigmoid, a gelu's Erf.
ELEMENTWISE = frozenset(RECTIFIERS + STEPS + (
    "Sigmoid", "Tanh", "Erf", "Erfc", "Maximum", "Minimum", "ClipByValue", "Abs", "Square", "Pow", "Exp", "Expm1",
    "Log", "Log1p", "Sin", "Cos", "Atan", "Sinh", "Cosh", "Select", "SelectV2"))
#: All whose derivative depends on what they are given.
NONLINEAR = ELEMENTWISE | frozenset((
    "Sqrt", "Rsqrt", "Reciprocal", "Inv", "SquaredDifference", "Softmax", "LogSoftmax", "MaxPool", "MaxPoolV2",
    "MaxPool3D", "Max", "Min", "Prod", "LRN", "L2Loss", "TopK", "TopKV2", "EuclideanNorm", "SegmentMax",
    "UnsortedSegmentMax"))
#: Nonlinear where two of their inputs come from x: attention, gates, a swish's product.
PRODUCTS = frozenset(("Mul", "MulNoNan", "MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum",
                      "RealDiv", "Div", "DivNoNan", "Xdivy"))
#: Those of them that are nonlinear where their second input comes from x.
QUOTIENTS = frozenset(("RealDiv", "Div", "DivNoNan", "Xdivy"))
