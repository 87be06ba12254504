#pragma once
#include "autograd/autograd.h"
#include "ops/linear.h"

namespace shim::gemm {

// dW = dy^T x added to the .grad of the leaf at the end of `to` by the product itself (beta = 1), instead of a temporary and a
// sum. False, with nothing done, where the leaf has no such .grad yet, where somebody would see the gradient on its way (hooks,
// targets, create_graph, anomaly mode), or where dtype and layout do not fit.
bool add_weight_gradient(const Edge& to, const Tensor& dy, const Tensor& x);
// The same with the other gradients, all in one launch (few rows on CUDA): dx where there is a weight, db where `sums`.
bool add_weight_gradient_at_once(
    const Edge& to, const Tensor& dy, const Tensor& x, const Tensor& weight, bool sums, LinearGradients*);
bool may_add_weight_gradient(const Edge& to, const Tensor& dy);  // asked first: unpacking x may be work (checkpoints)

}  // namespace shim::gemm
