// where and clamp: kernels of three inputs.
#include <complex>

#include "cpu/kernel_table.h"

namespace shim {
namespace {

struct Where {
  template <class T> static T f(T c, T a, T b) { return c != T(0) ? a : b; }
};
struct Clamp {
  template <class T> static T f(T x, T low, T high) {
    T y = x < low ? low : x;
    return y > high ? high : y;
  }
};  // NaN stays

template <class Op, class T> SHIM_CLONES void three(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]),
       *c = reinterpret_cast<const T*>(in[2]);
  auto* r = reinterpret_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = Op::f(a[i], b[i], c[i]);
}

template <class Op> PointwiseOp real(const char* name) {
  PointwiseOp o;
  o.name = name;
  o.put(DType::u8, three<Op, uint8_t>), o.put(DType::i8, three<Op, int8_t>), o.put(DType::i16, three<Op, int16_t>);
  o.put(DType::i32, three<Op, int32_t>), o.put(DType::i64, three<Op, int64_t>);
  o.put(DType::f32, three<Op, float>), o.put(DType::f64, three<Op, double>);
  return o;
}

// out = mask ? a : b, of elements of one size; steps in bytes. Both are read: AVX2 has no masked loads of 8 and 16 bits, and would not
// be used.
template <class T> SHIM_MATH_CLONES void select_packed(T* out, const uint8_t* mask, const T* a, const T* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T x = a[i], y = b[i];
    out[i] = mask[i] ? x : y;
  }
}
template <class T>
SHIM_MATH_CLONES void select_number(T* out, const uint8_t* mask, T a, const T* b, int64_t n, uint8_t where) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T y = b[i];
    out[i] = (mask[i] != 0) == where ? a : y;
  }
}

template <class T> void select_loop(void*, char* const* data, const int64_t* steps, int64_t n) {
  constexpr int64_t size = sizeof(T);
  auto* out = reinterpret_cast<T*>(data[0]);
  auto* mask = reinterpret_cast<const uint8_t*>(data[1]);
  auto *a = reinterpret_cast<const T*>(data[2]), *b = reinterpret_cast<const T*>(data[3]);
  if (steps[0] == size && steps[1] == 1) {
    if (steps[2] == size && steps[3] == size) return select_packed(out, mask, a, b, n);
    if (steps[2] == 0 && steps[3] == size) return select_number(out, mask, *a, b, n, 1);
    if (steps[2] == size && steps[3] == 0) return select_number(out, mask, *b, a, n, 0);
  }
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<T*>(data[0] + i * steps[0]) =
        *reinterpret_cast<const T*>(data[1][i * steps[1]] ? data[2] + i * steps[2] : data[3] + i * steps[3]);
}

}  // namespace

bool select(IntArrayRef shape, const Operand (&operands)[4]) {
  const DType t = operands[0].dtype;
  if (operands[1].dtype != DType::b8 || operands[2].dtype != t || operands[3].dtype != t) return false;
  LoopFn loop = nullptr;
  switch (itemsize(t)) {
    case 1: loop = select_loop<uint8_t>; break;
    case 2: loop = select_loop<uint16_t>; break;
    case 4: loop = select_loop<uint32_t>; break;
    case 8: loop = select_loop<uint64_t>; break;
    default: return false;
  }
  run_nest(make_nest(shape, operands, 4), loop, nullptr);
  return true;
}

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
