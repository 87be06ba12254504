#pragma once
// Gradients of linear layers and of matrix products by one call for all of them, in the place of their operators' formulas.
#include "autograd/operator_node.h"
#include "ops/linear.h"

namespace shim {

// Of a node of linear, fused_linear, mm or bmm. False: nothing was done, the formulas are called.
bool operator_gradients(OperatorNode&, Grads& grads, Grads& out);
// Whether the product of linear's weight's gradient, which this formula gives, was added to .grad.
bool weight_gradient_added(OperatorNode&, const PlannedFormula&, Grads& grads);

// What of a recorded layer its gradients need. An edge is null where nobody wants that gradient.
struct RecordedLinear {
  Ref<Node> node;
  const SavedTensor *input = nullptr, *weight = nullptr;  // where the weight's (the input's) gradient is wanted
  const Edge *to_input = nullptr, *to_weight = nullptr, *to_bias = nullptr;
  bool transposed = false;  // the weight is a transposed view, and its gradient is to be one
};

// A layer's activation, for the layer after it to go back through as well.
struct ActivationOffer {
  Tensor kept;
  gemm::Activation activation = gemm::Activation::none;
  bool sums = false;
};
bool offers_activation(
    OperatorNode&, ActivationOffer&);  // false: it has none, or something is to see the gradient on its way

// dy: the gradient of the product. db: the bias' gradient, if it is known already. False: nothing was done.
bool linear_gradients(const RecordedLinear&, const Tensor& dy, const Tensor& db, Grads& out);

}  // namespace shim
