// The loops of binary operators.
#include <cmath>
#include <complex>

#include "cpu/kernel_table.h"

namespace shim {
namespace {

template <class T> constexpr bool is_float = std::is_floating_point_v<T>;
template <class T> constexpr bool is_signed_int = std::is_integral_v<T> && std::is_signed_v<T>;

[[noreturn]] __attribute__((noinline)) void zero_division() { fail(Kind::Runtime, "ZeroDivisionError"); }

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
    if (most == T(0)) return {a.real() / most, a.imag() / most};
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

template <class Op, class T, class R> void scalar_loop(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]);
  auto* r = reinterpret_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = R(Op::f(a[i], b[i]));
}

template <class Op, class T, class R> constexpr BlockKernel integer_loop() {
  if constexpr (kDivides<Op>) {
    return scalar_loop<Op, T, R>;
  } else if constexpr (kSignless<Op>) {
    using U = std::make_unsigned_t<T>;
    return binary_loop<Op, U, std::conditional_t<std::is_same_v<R, T>, U, R>>;
  } else {
    return binary_loop<Op, T, R>;
  }
}

template <BlockKernel loop> void swapped(char* out, const char* const* in, int64_t n) {
  const char* const other_way[] = {in[1], in[0]};
  loop(out, other_way, n);
}

struct Table {
  std::array<PointwiseOp, 32> ops;
  size_t count = 0;

  constexpr PointwiseOp& add(const char* name, Rule rule) {
    PointwiseOp& op = ops[count++];
    op.name = name;
    op.rule = rule;
    return op;
  }
  template <class Op, class R = void> static constexpr void ints(PointwiseOp& op) {
    auto one = [&]<class T>(
                   DType t, T) { op.put(t, integer_loop<Op, T, std::conditional_t<std::is_void_v<R>, T, R>>()); };
    one(DType::u8, uint8_t{});
    one(DType::i8, int8_t{});
    one(DType::i16, int16_t{});
    one(DType::i32, int32_t{});
    one(DType::i64, int64_t{});
    one(DType::u16, uint16_t{});
    one(DType::u32, uint32_t{});
    one(DType::u64, uint64_t{});
  }
  template <class Op, class R = void> static constexpr void floats(PointwiseOp& op) {
    op.put(DType::f32, binary_loop<Op, float, std::conditional_t<std::is_void_v<R>, float, R>>);
    op.put(DType::f64, binary_loop<Op, double, std::conditional_t<std::is_void_v<R>, double, R>>);
  }
  template <class Op, class R = void> static constexpr void complexes(PointwiseOp& op) {
    op.put(DType::c64,
        binary_loop<Op, std::complex<float>, std::conditional_t<std::is_void_v<R>, std::complex<float>, R>>);
    op.put(DType::c128,
        binary_loop<Op, std::complex<double>, std::conditional_t<std::is_void_v<R>, std::complex<double>, R>>);
  }
  template <class Op> static constexpr void bools(PointwiseOp& op) {
    op.put(DType::b8, binary_loop<Op, uint8_t, uint8_t>);
  }
  template <class Op> static constexpr void compared(PointwiseOp& op) {
    ints<Op, uint8_t>(op);
    floats<Op, uint8_t>(op);
    bools<Op>(op);
  }
  template <class Op> constexpr void equal(const char* name) {
    PointwiseOp& op = add(name, Rule::compare);
    compared<Op>(op);
    complexes<Op, uint8_t>(op);
  }
  // a > b and b < a are one loop.
  template <class Op> constexpr void order(const char* name, const char* other_way) {
    compared<Op>(add(name, Rule::compare));
    PointwiseOp& op = add(other_way, Rule::compare);
    auto turn = [&]<class T>(DType t, T) { op.put(t, swapped<binary_loop<Op, T, uint8_t>>); };
    turn(DType::u8, uint8_t{}), turn(DType::i8, int8_t{}), turn(DType::i16, int16_t{}), turn(DType::i32, int32_t{}),
        turn(DType::i64, int64_t{});
    turn(DType::u16, uint16_t{}), turn(DType::u32, uint32_t{}), turn(DType::u64, uint64_t{});
    turn(DType::f32, float{}), turn(DType::f64, double{}), turn(DType::b8, uint8_t{});
  }
  template <class Op> constexpr PointwiseOp& real(const char* name) {
    PointwiseOp& op = add(name, Rule::arithmetic);
    ints<Op>(op);
    floats<Op>(op);
    return op;
  }
  // Whole numbers, of which none is a NaN, go by `Ints`.
  template <class Op, class Ints> constexpr void extreme(const char* name) {
    PointwiseOp& op = add(name, Rule::arithmetic);
    ints<Ints>(op);
    floats<Op>(op);
    bools<Ints>(op);
  }

  constexpr void arithmetic() {
    PointwiseOp& plus = add("add", Rule::arithmetic);
    ints<Add>(plus), floats<Add>(plus), complexes<Add>(plus), bools<Or>(plus);
    PointwiseOp& minus = add("sub", Rule::arithmetic);
    ints<Sub>(minus), floats<Sub>(minus), complexes<Sub>(minus);
    PointwiseOp& times = add("mul", Rule::arithmetic);
    ints<Mul>(times), floats<Mul>(times), complexes<Mul>(times), bools<And>(times);
    PointwiseOp& over = add("div", Rule::to_float);
    floats<Div>(over), complexes<Div>(over);
    real<FloorDiv>("floor_divide");
    real<TruncDiv>("div_trunc");
    real<Remainder>("remainder");
    real<Fmod>("fmod");
    complexes<Pow>(real<Pow>("pow"));
    extreme<Maximum, Maximum>("maximum");
    extreme<Minimum, Minimum>("minimum");
    extreme<Fmax, Maximum>("fmax");
    extreme<Fmin, Minimum>("fmin");
    floats<Atan2>(add("atan2", Rule::to_float));
    floats<Hypot>(add("hypot", Rule::arithmetic));
  }

  template <class Op> constexpr void bits(const char* name) {
    PointwiseOp& op = add(name, Rule::arithmetic);
    ints<Op>(op);
    bools<Op>(op);
  }

  constexpr Table() {
    arithmetic();
    equal<Eq>("eq");
    equal<Ne>("ne");
    order<Gt>("gt", "lt");
    order<Ge>("ge", "le");
    bools<LogicalAnd>(add("logical_and", Rule::logical));
    bools<LogicalOr>(add("logical_or", Rule::logical));
    bools<LogicalXor>(add("logical_xor", Rule::logical));
    bits<And>("bitwise_and");
    bits<Or>("bitwise_or");
    bits<Xor>("bitwise_xor");
    ints<ShiftLeft>(add("bitwise_left_shift", Rule::arithmetic));
    ints<ShiftRight>(add("bitwise_right_shift", Rule::arithmetic));
  }
};
constexpr Table kMade;

}  // namespace

static const NamedOps& binary_table() {
  static const NamedOps ops = [] {
    NamedOps all({kMade.ops.data(), kMade.count});
    for (PointwiseOp& op : all.ops) {
      if (BlockKernel f = binary_math_kernel(op.name)) op.put(DType::f32, f);
      for (DType t : {DType::f16, DType::bf16})
        if (BlockKernel f = half_kernel(op.name, t)) op.put(t, f);
    }
    all.names["true_divide"] = all.names["div"];
    return all;
  }();
  return ops;
}

const PointwiseOp* binary_op(const std::string& name) { return binary_table().find(name); }
std::span<const PointwiseOp> binary_ops() { return binary_table().ops; }

namespace {

template <class T> SHIM_CLONES void scaled_loop(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]),
       *c = reinterpret_cast<const T*>(in[2]);
  auto* r = reinterpret_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = T(a[i] + c[i] * b[i]);
}

}  // namespace

const PointwiseOp& add_scaled() {
  static const PointwiseOp op = [] {
    PointwiseOp o;
    o.name = "add";
    o.put(DType::u8, scaled_loop<uint8_t>), o.put(DType::i8, scaled_loop<uint8_t>),
        o.put(DType::i16, scaled_loop<uint16_t>);
    o.put(DType::i32, scaled_loop<uint32_t>), o.put(DType::i64, scaled_loop<uint64_t>),
        o.put(DType::u16, scaled_loop<uint16_t>);
    o.put(DType::u32, scaled_loop<uint32_t>), o.put(DType::u64, scaled_loop<uint64_t>);
    o.put(DType::f32, scaled_loop<float>), o.put(DType::f64, scaled_loop<double>);
    o.put(DType::c64, scaled_loop<std::complex<float>>), o.put(DType::c128, scaled_loop<std::complex<double>>);
    return o;
  }();
  return op;
}

}  // namespace shim
