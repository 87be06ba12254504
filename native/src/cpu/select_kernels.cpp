// where and clamp: kernels of three inputs.
#include <complex>

#include "cpu/kernel_table.h"

namespace shim {
namespace {

struct Where { template <class T> static T f(T c, T a, T b) { return c != T(0) ? a : b; } };
struct Clamp { template <class T> static T f(T x, T low, T high) { T y = x < low ? low : x; return y > high ? high : y; } };   // NaN stays

template <class Op, class T>
SHIM_CLONES void three(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]), *c = reinterpret_cast<const T*>(in[2]);
  auto* r = reinterpret_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = Op::f(a[i], b[i], c[i]);
}

template <class Op>
PointwiseOp real(const char* name) {
  PointwiseOp o;
  o.name = name;
  o.put(DType::u8, three<Op, uint8_t>), o.put(DType::i8, three<Op, int8_t>), o.put(DType::i16, three<Op, int16_t>);
  o.put(DType::i32, three<Op, int32_t>), o.put(DType::i64, three<Op, int64_t>);
  o.put(DType::f32, three<Op, float>), o.put(DType::f64, three<Op, double>);
  return o;
}

}  // namespace

const PointwiseOp& where_op() {
  static const PointwiseOp op = [] {
    PointwiseOp o = real<Where>("where");
    o.put(DType::b8, three<Where, uint8_t>);
    o.put(DType::c64, three<Where, std::complex<float>>), o.put(DType::c128, three<Where, std::complex<double>>);
    return o;
  }();
  return op;
}

const PointwiseOp& clamp_op() {
  static const PointwiseOp op = real<Clamp>("clamp");
  return op;
}

}  // namespace shim
