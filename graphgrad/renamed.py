"""Op types that go by another name in another version of TensorFlow."""

#: Op types that one Python call has emitted in different versions of TensorFlow (0.12 to 2.21), or that
#: users mistake for each other. A key in a row that matched nothing may have meant another of its row.
RENAMED = (
    ("Add", "AddV2"),
    ("Div", "RealDiv"),
    ("Mod", "FloorMod"),
    ("MatMul", "BatchMatMulV2", "Einsum", "SparseMatMul"),
    ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul"),
    ("Gather", "GatherV2", "ResourceGather"),
    ("Concat", "ConcatV2"),
    ("Reverse", "ReverseV2"),
    ("Select", "SelectV2"),
    ("Maximum", "LeakyRelu"),
    ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus"),
    ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
    ("MatrixDiag", "MatrixDiagV3"),
    ("PyFunc", "PyFuncStateless", "EagerPyFunc"),
    ("Variable", "VariableV2", "VarHandleOp"),
    ("Identity", "ReadVariableOp"),
    ("Switch", "If", "StatelessIf"),
    ("Enter", "While", "StatelessWhile"),
    ("Round", "Floor", "Rint"),
)
