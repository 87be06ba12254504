// dy * act'(z) on the CPU: one pass, float32 for the 16-bit floats.
#include "cpu/kernel_table.h"
#include "cpu/vector_math.h"
#include "ops/linear.h"

namespace shim::gemm {
namespace {

// `z` is the activation's result for relu: 0 where it is not positive, and NaN lets the gradient pass.
struct ReluSlope {
  template <class T> static T f(T g, T y) { return y <= T(0) ? T(0) : g; }
};

struct GeluSlope {
  template <class T> static T f(T g, T z) {
    const T cdf = T(0.5) * (T(1) + std::erf(z * T(0.70710678118654752440)));
    return g * (cdf + z * exp_of(T(-0.5) * z * z) * T(0.39894228040143267794));
  }
};

struct GeluTanhSlope {
  template <class T> static T f(T g, T z) {
    const T c = T(0.79788456080286535588), k = T(0.044715), inner = c * (z + k * z * z * z);
    const T e = exp_of(T(-2) * std::fabs(inner)), t = std::copysign((T(1) - e) / (T(1) + e), inner);
    return g * (T(0.5) * (T(1) + t) + T(0.5) * z * (T(1) - t * t) * c * (T(1) + T(3) * k * z * z));
  }
};

template <class Op, class T> SHIM_CLONES void slope_loop(char* out, const char* const* in, int64_t n) {
  auto* g = reinterpret_cast<const T*>(in[0]);
  auto* z = reinterpret_cast<const T*>(in[1]);
  auto* r = reinterpret_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = Op::f(g[i], z[i]);
}

template <class Op> BlockKernel kernel_for(DType compute) {
  return compute == DType::f64 ? &slope_loop<Op, double> : &slope_loop<Op, float>;
}

}  // namespace

Tensor activation_backward_cpu(Activation activation, const Tensor& dy, const Tensor& kept) {
  const DType compute = dy->dtype() == DType::f64 ? DType::f64 : DType::f32;
  const BlockKernel kernel = activation == Activation::relu   ? kernel_for<ReluSlope>(compute)
                             : activation == Activation::gelu ? kernel_for<GeluSlope>(compute)
                                                              : kernel_for<GeluTanhSlope>(compute);
  Tensor out = empty(dy->sizes(), dy->dtype(), dy->device());
  if (!out->numel()) return out;
  const Operand operands[3] = {Operand::of(*out), Operand::of(*dy), Operand::of(*kept)};
  run_blocks(out->sizes(), operands, 3, compute, compute, kernel);
  return out;
}

}  // namespace shim::gemm
