#pragma once
// The backward of recorded linear layers without Python.
#include "autograd/autograd.h"
#include "ops/linear.h"

namespace shim {

// What of a recorded layer its gradients need. An edge is null where nobody wants that gradient.
struct RecordedLinear {
  Ref<Node> node;
  const SavedTensor *input = nullptr, *weight = nullptr;  // where the weight's (the input's) gradient is wanted
  const Edge *to_input = nullptr, *to_weight = nullptr, *to_bias = nullptr;
  bool transposed = false;  // the weight is a transposed view, and its gradient is to be one
};

// A layer whose activation the layer after it may go back through as well.
class ActivatedLinear {
 public:
  struct Offer {
    Tensor kept;
    gemm::Activation activation = gemm::Activation::none;
    bool sums = false;
  };
  virtual ~ActivatedLinear() = default;
  virtual bool offers(Offer&) = 0;  // false: it is not such a layer, or something is to see the gradient on its way
};

bool gradients_without_python();  // no mode and no level of gradients is to see the operators of this backward

// dy: the gradient of the product. db: the bias' gradient, if it is known already. False: nothing was done, the formulas are called.
bool linear_gradients(const RecordedLinear&, const Tensor& dy, const Tensor& db, Grads& out);

}  // namespace shim
