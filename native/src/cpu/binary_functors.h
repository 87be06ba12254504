#pragma once
// What the loops of binary operators compute of two elements.
#include <cmath>
#include <complex>

#include "cpu/kernel_table.h"

namespace shim {

namespace {

template <class T> constexpr bool is_float = std::is_floating_point_v<T>;
template <class T> constexpr bool is_signed_int = std::is_integral_v<T> && std::is_signed_v<T>;

[[noreturn]] inline __attribute__((noinline)) void zero_division() { fail(Kind::Runtime, "ZeroDivisionError"); }

struct Add {
  template <class T> static T f(T a, T b) { return T(a + b); }
};
struct Sub {
  template <class T> static T f(T a, T b) { return T(a - b); }
};
struct Mul {
  template <class T> static T f(T a, T b) { return T(a * b); }
  template <class T>
  static std::complex<T> f(std::complex<T> a, std::complex<T> b) {  // as PyTorch's: infinities are not looked after
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
struct Div {
  template <class T> static T f(T a, T b) { return a / b; }
  template <class T>
  static std::complex<T> f(std::complex<T> a, std::complex<T> b) {  // by the larger part, so that no square overflows
    const T re = std::fabs(b.real()), im = std::fabs(b.imag()), most = re > im ? re : im, scale = T(1) / most;
    if (most == T(0) && re == T(0)) return {a.real() / most, a.imag() / most};  // not of a part that is no number
    if (std::isinf(most)) {                                                     // what is finite gives 0
      const T ratio = re >= im ? b.imag() / b.real() : b.real() / b.imag();
      const T part = T(1) / (re >= im ? b.real() + b.imag() * ratio : b.real() * ratio + b.imag());
      if (re >= im) return {(a.real() + a.imag() * ratio) * part, (a.imag() - a.real() * ratio) * part};
      return {(a.real() * ratio + a.imag()) * part, (a.imag() * ratio - a.real()) * part};
    }
    const T c = b.real() * scale, d = b.imag() * scale, x = a.real() * scale, y = a.imag() * scale,
            size = c * c + d * d;
    return {(x * c + y * d) / size, (y * c - x * d) / size};
  }
};
struct Or {
  template <class T> static T f(T a, T b) { return T(a | b); }
};
struct And {
  template <class T> static T f(T a, T b) { return T(a & b); }
};
struct Xor {
  template <class T> static T f(T a, T b) { return T(a ^ b); }
};

struct TruncDiv {
  template <class T> static T f(T a, T b) {
    if constexpr (is_float<T>)
      return std::trunc(a / b);
    else {
      if (b == 0) zero_division();
      if constexpr (is_signed_int<T>)
        if (b == T(-1)) return T(T(0) - a);
      return T(a / b);
    }
  }
};

struct FloorDiv {
  template <class T> static T f(T a, T b) {
    if constexpr (is_float<T>) {
      if (b == 0) return a / b;
      T mod = std::fmod(a, b), div = (a - mod) / b;
      if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
      if (div == 0) return std::copysign(T(0), a / b);
      T whole = std::floor(div);
      return div - whole > T(0.5) ? whole + 1 : whole;
    } else {
      T q = TruncDiv::f(a, b);
      if constexpr (is_signed_int<T>)
        if (T(q * b) != a && (a < 0) != (b < 0)) --q;
      return q;
    }
  }
};

struct Fmod {
  template <class T> static T f(T a, T b) {
    if constexpr (is_float<T>)
      return std::fmod(a, b);
    else {
      if (b == 0) zero_division();
      if constexpr (is_signed_int<T>)
        if (b == T(-1)) return 0;
      return T(a % b);
    }
  }
};

struct Remainder {
  template <class T> static T f(T a, T b) {
    T mod = Fmod::f(a, b);
    if constexpr (!std::is_unsigned_v<T>)
      if (mod != 0 && (b < 0) != (mod < 0)) mod = T(mod + b);
    return mod;
  }
};

struct Pow {
  template <class T> static T f(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (is_signed_int<T>)
        if (b < 0) return a == 1 ? 1 : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : 0;
      using U = std::make_unsigned_t<T>;
      uint64_t result = 1, base = uint64_t(U(a));
      for (U e = U(b); e; e = U(e >> 1), base *= base)
        if (e & 1) result *= base;
      return T(result);
    } else {
      return std::pow(a, b);
    }
  }
};

struct Maximum {
  template <class T> static T f(T a, T b) {
    return is_float<T> && a != a ? a : is_float<T> && b != b ? b : a > b ? a : b;
  }
};
struct Minimum {
  template <class T> static T f(T a, T b) {
    return is_float<T> && a != a ? a : is_float<T> && b != b ? b : a < b ? a : b;
  }
};
struct Fmax {
  template <class T> static T f(T a, T b) { return std::fmax(a, b); }
};
struct Fmin {
  template <class T> static T f(T a, T b) { return std::fmin(a, b); }
};
struct Atan2 {
  template <class T> static T f(T a, T b) { return std::atan2(a, b); }
};
struct Hypot {
  template <class T> static T f(T a, T b) { return std::hypot(a, b); }
};

struct Eq {
  template <class T> static bool f(T a, T b) { return a == b; }
};
struct Ne {
  template <class T> static bool f(T a, T b) { return a != b; }
};
struct Gt {
  template <class T> static bool f(T a, T b) { return a > b; }
};
struct Ge {
  template <class T> static bool f(T a, T b) { return a >= b; }
};
struct LogicalAnd {
  template <class T> static bool f(T a, T b) { return a && b; }
};
struct LogicalOr {
  template <class T> static bool f(T a, T b) { return a || b; }
};
struct LogicalXor {
  template <class T> static bool f(T a, T b) { return !a != !b; }
};

struct ShiftLeft {
  template <class T> static T f(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return U(b) >= sizeof(T) * 8 ? T(0) : T(U(a) << U(b));
  }
};
struct ShiftRight {
  template <class T> static T f(T a, T b) {
    using U = std::make_unsigned_t<T>;
    constexpr U most = sizeof(T) * 8 - (std::is_signed_v<T> ? 1 : 0);
    if (U(b) >= most) return std::is_signed_v<T> ? T(a >> most) : T(0);
    return T(a >> b);
  }
};

// The low bits of these are the same whether the sign bit is one: one loop serves signed and unsigned integers of a size.
template <class Op>
constexpr bool kSignless = (std::is_same_v<Op, Add> || std::is_same_v<Op, Sub> || std::is_same_v<Op, Mul> ||
                            std::is_same_v<Op, Or> || std::is_same_v<Op, And> || std::is_same_v<Op, Xor> ||
                            std::is_same_v<Op, Eq> || std::is_same_v<Op, Ne> || std::is_same_v<Op, ShiftLeft>);
// Divisions of integers have no vector instruction to gain from.
template <class Op>
constexpr bool kDivides = (std::is_same_v<Op, TruncDiv> || std::is_same_v<Op, FloorDiv> || std::is_same_v<Op, Fmod> ||
                           std::is_same_v<Op, Remainder> || std::is_same_v<Op, Pow>);

}  // namespace

}  // namespace shim
