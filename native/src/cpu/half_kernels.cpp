// Arithmetic of two contiguous 16-bit float tensors in one pass: computed in float32, rounded once, as by way of buffers.
#include <cstring>

#include "cpu/convert.h"
#include "cpu/instructions.h"
#include "cpu/kernel_table.h"

namespace shim {
namespace {

struct Plus {
  template <class T> static T f(T a, T b) { return a + b; }
};
struct Minus {
  template <class T> static T f(T a, T b) { return a - b; }
};
struct Times {
  template <class T> static T f(T a, T b) { return a * b; }
};
struct Over {
  template <class T> static T f(T a, T b) { return a / b; }
};
struct Largest {
  template <class T> static T f(T a, T b) { return a != a || a > b ? a : b; }
};  // what is no number stays
struct Least {
  template <class T> static T f(T a, T b) { return a != a || a < b ? a : b; }
};

template <class Op> SHIM_MATH_CLONES void bfloat16_loop(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const BFloat16*>(in[0]), *b = reinterpret_cast<const BFloat16*>(in[1]);
  auto* r = reinterpret_cast<BFloat16*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = to_bfloat16(Op::f(to_float(a[i]), to_float(b[i])));
}

#ifdef SHIM_F16C
template <class Op> __attribute__((target("avx,f16c"))) void half_loop(char* out, const char* const* in, int64_t n) {
  typedef float Vector __attribute__((vector_size(32)));
  auto *a = reinterpret_cast<const Half*>(in[0]), *b = reinterpret_cast<const Half*>(in[1]);
  auto* r = reinterpret_cast<Half*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const auto x = reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i))));
    const auto y = reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i))));
    Vector z;
    if constexpr (std::is_same_v<Op, Largest>)
      z = (x != x) | (x > y) ? x : y;
    else if constexpr (std::is_same_v<Op, Least>)
      z = (x != x) | (x < y) ? x : y;
    else
      z = std::is_same_v<Op, Plus>    ? x + y
          : std::is_same_v<Op, Minus> ? x - y
          : std::is_same_v<Op, Times> ? x * y
                                      : x / y;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(r + i),
        _mm256_cvtps_ph(reinterpret_cast<__m256>(z), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  for (; i < n; ++i) r[i] = to_half(Op::f(to_float(a[i]), to_float(b[i])));
}
#endif

template <class Op> BlockKernel half_of() {
#ifdef SHIM_F16C
  if (has_f16c()) return half_loop<Op>;
#endif
  return nullptr;
}

// A sign is one bit, of both formats.
SHIM_CLONES void turn_signs(char* out, const char* const* in, int64_t n) {
  auto* a = reinterpret_cast<const uint16_t*>(in[0]);
  auto* r = reinterpret_cast<uint16_t*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = a[i] ^ 0x8000;
}
SHIM_CLONES void drop_signs(char* out, const char* const* in, int64_t n) {
  auto* a = reinterpret_cast<const uint16_t*>(in[0]);
  auto* r = reinterpret_cast<uint16_t*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = a[i] & 0x7fff;
}

// With a number, a float32, for the second input.
template <class Op> SHIM_MATH_CLONES void bfloat16_number_loop(char* out, const char* const* in, int64_t n) {
  auto* a = reinterpret_cast<const BFloat16*>(in[0]);
  auto* r = reinterpret_cast<BFloat16*>(out);
  const float b = *reinterpret_cast<const float*>(in[1]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = to_bfloat16(Op::f(to_float(a[i]), b));
}
#ifdef SHIM_F16C
template <class Op>
__attribute__((target("avx,f16c"))) void half_number_loop(char* out, const char* const* in, int64_t n) {
  auto* a = reinterpret_cast<const Half*>(in[0]);
  auto* r = reinterpret_cast<Half*>(out);
  const float b = *reinterpret_cast<const float*>(in[1]);
  const __m256 y = _mm256_set1_ps(b);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i)));
    const __m256 z = std::is_same_v<Op, Plus> ? _mm256_add_ps(x, y) : _mm256_mul_ps(x, y);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(r + i), _mm256_cvtps_ph(z, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  for (; i < n; ++i) r[i] = to_half(Op::f(to_float(a[i]), b));
}
#endif

}  // namespace

BlockKernel half_number_kernel(const char* name, DType t) {
  const bool plus = !std::strcmp(name, "add");
  if (!plus && std::strcmp(name, "mul") != 0) return nullptr;
  if (t == DType::bf16) return plus ? bfloat16_number_loop<Plus> : bfloat16_number_loop<Times>;
#ifdef SHIM_F16C
  if (t == DType::f16 && has_f16c()) return plus ? half_number_loop<Plus> : half_number_loop<Times>;
#endif
  return nullptr;
}

BlockKernel half_kernel(const char* name, DType t) {
  const bool wide = t == DType::bf16;  // of the range of float32
  if (!std::strcmp(name, "neg")) return turn_signs;
  if (!std::strcmp(name, "abs")) return drop_signs;
  if (!std::strcmp(name, "add")) return wide ? bfloat16_loop<Plus> : half_of<Plus>();
  if (!std::strcmp(name, "sub")) return wide ? bfloat16_loop<Minus> : half_of<Minus>();
  if (!std::strcmp(name, "mul")) return wide ? bfloat16_loop<Times> : half_of<Times>();
  if (!std::strcmp(name, "div")) return wide ? bfloat16_loop<Over> : half_of<Over>();
  if (!std::strcmp(name, "maximum")) return wide ? bfloat16_loop<Largest> : half_of<Largest>();
  if (!std::strcmp(name, "minimum")) return wide ? bfloat16_loop<Least> : half_of<Least>();
  return nullptr;
}

}  // namespace shim
