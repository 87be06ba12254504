#include "cuda/cross_polar.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/cross_polar.h"
#include "cuda/reasons.h"
#include "cuda/walk.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family cross_polar_family{"cross_polar"};

template <class E> Kernel<E> cross_polar_kernel(DType t, int device) {
  return find_kernel<E>(cross_polar_family, key_of(int(t)), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(compute_dtype(t))};
  });
}

}  // namespace

Outcome<Tensor> cross(const Tensor& a, const Tensor& b, int64_t dim) {
  const DType t = a->dtype();
  const int n = a->dim();
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t) || t == DType::b8) return kOtherDtype;
  if (b->dtype() != t) return kMixedDtypes;
  if (b->device() != a->device()) return kMixedDevices;
  if (dim < 0) dim += n;
  if (!std::ranges::equal(a->sizes(), b->sizes()) || dim < 0 || dim >= n || a->sizes()[size_t(dim)] != 3)
    return kOtherSizes;
  const Tensor out = empty(a->sizes(), t, a->device());
  Walk w;
  for (int d = n - 1; d >= 0; --d) {
    const size_t i = size_t(d);
    if (d != dim && !extend(w, a->sizes()[i], {a->strides()[i], b->strides()[i], out->strides()[i]}))
      return kTooManyDims;
  }
  const int device = a->device().index;
  const auto f = cross_polar_kernel<entries::cross_polar::cross>(t, device);
  if (!f) return kNotCompiled;
  int64_t total = a->numel() / 3,
          step[3] = {a->strides()[size_t(dim)], b->strides()[size_t(dim)], out->strides()[size_t(dim)]};
  if (!total) return out;
  launch(f, {blocks_for(total)}, device, a->data(), b->data(), out->data(), total, step[0], step[1], step[2], w);
  return out;
}

Outcome<Tensor> polar(const Tensor& length, const Tensor& angle) {
  const DType t = length->dtype();
  if (!length->is_contiguous() || !angle->is_contiguous()) return kStrided;  // the result's order is the operands'
  if (!kernels_ready()) return kNoCompiler;
  if (t != DType::f32 && t != DType::f64) return kOtherDtype;
  if (angle->dtype() != t) return kMixedDtypes;
  if (angle->device() != length->device()) return kMixedDevices;
  if (!std::ranges::equal(length->sizes(), angle->sizes())) return kOtherSizes;
  const int device = length->device().index;
  const auto f = cross_polar_kernel<entries::cross_polar::polar>(t, device);
  if (!f) return kNotCompiled;
  const Tensor out = empty(length->sizes(), t == DType::f32 ? DType::c64 : DType::c128, length->device());
  int64_t n = length->numel();
  if (!n) return out;
  const auto begins_whole = [](const Tensor& x) { return vector_of(x->data(), x->itemsize()) * x->itemsize() == 16; };
  const bool packed = begins_whole(length) && begins_whole(angle) && begins_whole(out);
  const int64_t each = packed ? 16 / int64_t(length->itemsize()) : 1;
  launch(f, {blocks_for((n + each - 1) / each)}, device, length->data(), angle->data(), out->data(), n, packed);
  return out;
}

}  // namespace shim::cuda
