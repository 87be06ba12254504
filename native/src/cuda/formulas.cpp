#include "cuda/formulas.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"

namespace shim::cuda {
namespace {

// Whether writing `out` could change what is still to be read of `in`.
bool overlaps(const TensorImpl& out, const TensorImpl& in) {
  const char *a = static_cast<const char*>(out.data()), *b = static_cast<const char*>(in.data());
  if (a >= b + storage_bytes(in.sizes(), in.strides(), in.itemsize()) ||
      b >= a + storage_bytes(out.sizes(), out.strides(), out.itemsize()))
    return false;
  return a != b || !std::ranges::equal(out.sizes(), in.sizes()) || !std::ranges::equal(out.strides(), in.strides());
}

}  // namespace

Tensor formula(const char* op, std::span<const TensorOrScalar> inputs, const double (&extra)[3], Tensor out) {
  const TensorImpl* like[3] = {};
  const TensorImpl* first = nullptr;
  int tensors = 0;
  Dims shape;
  for (const TensorOrScalar& i : inputs) {
    if (!i.tensor) continue;
    if (!first) first = i.tensor;
    if (!floating(i.tensor->dtype()) || i.tensor->dtype() != first->dtype() || i.tensor->device() != first->device())
      return {};
    shape =
        tensors ? broadcast_shapes(shape, i.tensor->sizes()) : Dims(i.tensor->sizes().begin(), i.tensor->sizes().end());
    like[tensors++] = i.tensor;
  }
  if (!first || !first->device().is_cuda()) return {};
  const DType t = first->dtype(), compute = cuda::compute_dtype(t);
  if (!out) {
    out = allocate_like(shape, like, tensors, t, first->device());
  } else {
    if (out->dtype() != t || out->device() != first->device() || !std::ranges::equal(out->sizes(), shape)) return {};
    for (int k = 0; k < tensors; ++k)
      if (overlaps(*out, *like[k])) return {};
  }
  if (out->numel() == 0) return out;
  Elementwise e{op, compute, compute, 1, {Operand::of(*out)}};
  alignas(16) char numbers[3][16] = {};
  for (const TensorOrScalar& i : inputs) {
    if (i.tensor) {
      e.operands[e.count++] = Operand::of(*i.tensor);
      continue;
    }
    store_number(numbers[e.count - 1], compute, i.number);
    e.operands[e.count] = {numbers[e.count - 1], compute, {}, {}};
    e.numbers[e.count++] = true;
  }
  std::copy(extra, extra + 3, e.extra);
  return run_elementwise(e, out->sizes(), out->device().index) ? out : Tensor{};
}

}  // namespace shim::cuda
