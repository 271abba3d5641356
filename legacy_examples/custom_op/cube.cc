// An operation of one's own: Cube, y = x * x * x. Its gradient is registered from Python (cube.py).
//
//     graphgrad build legacy_examples/custom_op/cube.cc
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

#if __cplusplus < 201703L  // TensorFlow 1.15 is written in C++11
#define OK_STATUS ::tensorflow::Status::OK()
#else
#define OK_STATUS ::absl::OkStatus()
#endif

using namespace tensorflow;

REGISTER_OP("Cube")
    .Attr("T: {float, double}")
    .Input("x: T")
    .Output("y: T")
    .SetShapeFn([](shape_inference::InferenceContext* context) {
      context->set_output(0, context->input(0));
      return OK_STATUS;
    });

template <typename T>
class CubeOp : public OpKernel {
 public:
  explicit CubeOp(OpKernelConstruction* construction) : OpKernel(construction) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, input.shape(), &output));
    auto x = input.flat<T>();
    auto y = output->flat<T>();
    for (int64_t i = 0; i < x.size(); ++i) {
      y(i) = x(i) * x(i) * x(i);
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("Cube").Device(DEVICE_CPU).TypeConstraint<float>("T"), CubeOp<float>);
REGISTER_KERNEL_BUILDER(Name("Cube").Device(DEVICE_CPU).TypeConstraint<double>("T"), CubeOp<double>);
