// Products of complex matrices on CUDA: one product of real matrices of twice the size.
#include "gemm/complex_product.h"

#include "gemm/arguments.h"
#include "ops/cuda_kernels.h"
#include "ops/kernels.h"
#include "ops/linear.h"

namespace shim::gemm {
namespace {

bool written(const char* op, const Tensor& out, const Tensor& in) {
  const DType t = in->dtype();
  return cuda::run_elementwise({op, t, t, 2, {Operand::of(*out), Operand::of(*in)}}, out->sizes(), out->device().index);
}

// For each number x + iy its rows (x, y) and (-y, x): (..., K, N) -> (..., 2 K, 2 N), real. Null: no kernel.
Tensor twofold(const Tensor& b) {
  const size_t dims = size_t(b->dim());
  Dims sizes(b->sizes().begin(), b->sizes().end());
  sizes.insert(sizes.end() - 1, 2);
  const Tensor both = empty(sizes, b->dtype(), b->device());
  for (int k = 0; k < 2; ++k)
    if (!written(k ? "turned" : "copy", select(*both, int64_t(dims) - 1, k), b)) return {};
  sizes = Dims(b->sizes().begin(), b->sizes().end());
  sizes[dims - 2] *= 2, sizes[dims - 1] *= 2;
  return view(*view_as_real(*both), sizes);
}

}  // namespace

bool complex_on_cuda(const TensorImpl& t) {
  return t.device().is_cuda() && is_complex(t.dtype()) && !is_sparse(t) && cuda::pointwise_dtype(t.dtype()) &&
         cuda::elementwise_ready();
}

Tensor complex_matmul(const Tensor& a, const Tensor& b) {
  if (!complex_on_cuda(*a)) return {};
  const bool vector = b->dim() == 1;
  const Tensor right = twofold(vector ? view(*contiguous(b), Dims{b->numel(), 1}) : b);
  if (!right) return {};
  Dims sizes(a->sizes().begin(), a->sizes().end());
  sizes.back() *= 2;  // real and imaginary parts by turns, as they lie
  const Tensor parts = matmul(view(*view_as_real(*contiguous(a)), sizes), right);
  if (!parts) return {};
  sizes = Dims(parts->sizes().begin(), parts->sizes().end());
  sizes.back() /= 2;
  if (vector) sizes.pop_back();
  sizes.push_back(2);
  return view_as_complex(*view(*contiguous(parts), sizes));
}

Tensor complex_weight_gradient(const Tensor& dy, const Tensor& x, bool transposed) {
  if (!complex_on_cuda(*dy)) return {};
  const auto rows = [](const Tensor& t) {
    return view(*contiguous(t), Dims{t->numel() / std::max<int64_t>(last(*t), 1), last(*t)});
  };
  const Tensor g = rows(dy), r = rows(x);
  const Tensor dw = transposed ? complex_matmul(transpose(*r, 0, 1), g) : complex_matmul(transpose(*g, 0, 1), r);
  return dw && transposed ? transpose(*dw, 0, 1) : dw;
}

}  // namespace shim::gemm
