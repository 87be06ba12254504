#pragma once
// Multi-tensor kernels: one operation on many tensors in few launches, for torch._foreach_*. All tensors are contiguous, of one
// floating dtype and on one device. False or null where that is not so, or there is no kernel: nothing is written then.
#include <span>

#include "core/tensor.h"

namespace shim::cuda {

enum class Share {
  own,
  one,
  number
};  // an operand: a tensor for each, a tensor of one element for all, a number for each
struct Shared {
  Share kind = Share::own;
  std::span<const Tensor> tensors;
};  // `one`: a list of one

// outs[i] = op(a[i], b[i], c[i]) by the functor of `op` in the pointwise table; `numbers[i]` for operands that are numbers, and as the
// first of the numbers of the operators whose functors take some.
bool each(const char* op, std::span<const Tensor> outs, std::span<const Tensor> a, std::span<const Shared> rest,
    std::span<const double> numbers);

// The norms of order 2, 1 or infinity, one element each of a new tensor.
enum class Order { two, one, infinity };
Tensor norms(std::span<const Tensor> tensors, Order order);

}  // namespace shim::cuda
