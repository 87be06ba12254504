#include "distributed/half_reductions.h"

#include <complex>

#include "cpu/convert.h"

namespace shim::distributed {
namespace {

template <class T> T narrowed(float f) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(f);
  else
    return to_half(f);
}

float sum(float a, float b) { return a + b; }
float product(float a, float b) { return a * b; }
float smaller(float a, float b) { return a < b || a != a ? a : b; }
float larger(float a, float b) { return a > b || a != a ? a : b; }

template <class T, float combine(float, float)> void reduce_halves(void* in, void* inout, mpi::Count* n, mpi::Type*) {
  const T* __restrict a = static_cast<const T*>(in);
  T* __restrict b = static_cast<T*>(inout);
  for (mpi::Count i = 0, end = *n; i < end; ++i) b[i] = narrowed<T>(combine(to_float(a[i]), to_float(b[i])));
}

template <class T> mpi::Reduction* reducer(int which) {
  static constexpr mpi::Reduction* all[] = {
      reduce_halves<T, sum>, reduce_halves<T, smaller>, reduce_halves<T, larger>, reduce_halves<T, product>};
  return all[which];
}

template <class T> void divide(const TensorImpl& t, float by) {
  T* x = static_cast<T*>(t.data());
  const int64_t n = t.numel();
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == 2)
      x[i] = narrowed<T>(to_float(x[i]) / by);
    else
      x[i] /= T(by);
  }
}

}  // namespace

mpi::Reduction* half_reducer(bool bfloat16, int which) {
  return bfloat16 ? reducer<BFloat16>(which) : reducer<Half>(which);
}

void divide_by(const TensorImpl& t, int n) {
  switch (t.dtype()) {
    case DType::f16: return divide<Half>(t, float(n));
    case DType::bf16: return divide<BFloat16>(t, float(n));
    case DType::f32: return divide<float>(t, float(n));
    case DType::f64: return divide<double>(t, float(n));
    case DType::c64: return divide<std::complex<float>>(t, float(n));
    default: return divide<std::complex<double>>(t, float(n));
  }
}

}  // namespace shim::distributed
