#include "cpu/vector_product.h"

#include <algorithm>

#include "cpu/loops.h"
#include "cpu/parallel.h"

namespace shim {
namespace {

using Apart = int64_t[3];  // bytes between the three elements of the result and of each operand

template <class T> void products_along(void* context, char* const* data, const int64_t* steps, int64_t n) {
  const Apart& apart = *static_cast<const Apart*>(context);
  for (int64_t i = 0; i < n; ++i) {
    const auto at = [&](int which, int64_t k) -> T& {
      return *reinterpret_cast<T*>(data[which] + i * steps[which] + k * apart[which]);
    };
    const T a0 = at(1, 0), a1 = at(1, 1), a2 = at(1, 2), b0 = at(2, 0), b1 = at(2, 1), b2 = at(2, 2);
    at(0, 0) = a1 * b2 - a2 * b1, at(0, 1) = a2 * b0 - a0 * b2, at(0, 2) = a0 * b1 - a1 * b0;
  }
}

LoopFn products_of(DType t) {
  switch (t) {
    case DType::f32: return products_along<float>;
    case DType::f64: return products_along<double>;
    case DType::i32: return products_along<int32_t>;
    case DType::i64: return products_along<int64_t>;
    default: return nullptr;
  }
}

}  // namespace

Outcome<Tensor> vector_product(const Tensor& a, const Tensor& b, int64_t dim) {
  const LoopFn loop = products_of(a->dtype());
  const int64_t dims = a->dim();
  if (!loop || a->dtype() != b->dtype()) return NotMine{"dtypes other than one of float32, float64, int32 and int64"};
  if (a->has_math_bits() || b->has_math_bits()) return NotMine{"math bits"};
  if (!std::ranges::equal(a->sizes(), b->sizes())) return NotMine{"two shapes"};
  if (dim < -dims || dim >= dims) return NotMine{"a dim out of range"};
  const size_t d = size_t(dim < 0 ? dim + dims : dim);
  if (a->sizes()[d] != 3) return NotMine{"a dim that is not of three elements"};
  const UnlockedWork others_run(a->numel());
  const Tensor out = empty(a->sizes(), a->dtype(), Device{});
  Dims shape(a->sizes().begin(), a->sizes().end());
  shape[d] = 1;  // each vector is visited once
  const Operand operands[3] = {Operand::of(*out), Operand::of(*a), Operand::of(*b)};
  Apart apart;
  for (int k = 0; k < 3; ++k) apart[k] = operands[k].strides[d] * int64_t(a->itemsize());
  run_nest(make_nest(shape, operands, 3), loop, apart);
  return out;
}

}  // namespace shim
