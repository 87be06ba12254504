// The loops of unary operators.
#include <bit>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/math_kernels.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

template <class T> constexpr bool is_float = std::is_floating_point_v<T>;

#define UNARY(Name, expression)                               \
  struct Name {                                               \
    template <class T> static T f(T x) { return expression; } \
  }
UNARY(Neg, T(-x));
UNARY(Abs, is_float<T> ? T(std::fabs(x)) : x < 0 ? T(-x) : x);
UNARY(Square, T(x* x));
UNARY(Relu, x < 0 ? T(0) : x);  // NaN stays
UNARY(Same, x);
UNARY(Not, T(~x));
UNARY(BoolNot, T(!x));
UNARY(Sign, x > 0 ? T(1) : x < 0 ? T(-1) : T(0));
UNARY(Floor, std::floor(x));
UNARY(Ceil, std::ceil(x));
UNARY(Round, std::nearbyint(x));
UNARY(Trunc, std::trunc(x));
UNARY(Frac, x - std::trunc(x));
UNARY(Reciprocal, T(1) / x);
UNARY(Exp2, std::exp2(x));
UNARY(Expm1, std::expm1(x));
UNARY(Log2, std::log2(x));
UNARY(Log10, std::log10(x));
UNARY(Log1p, std::log1p(x));
UNARY(Sqrt, std::sqrt(x));
UNARY(Rsqrt, T(1) / std::sqrt(x));
UNARY(Tan, std::tan(x));
UNARY(Asin, std::asin(x));
UNARY(Acos, std::acos(x));
UNARY(Atan, std::atan(x));
UNARY(Sinh, std::sinh(x));
UNARY(Cosh, std::cosh(x));
UNARY(Erf, std::erf(x));
UNARY(Erfc, std::erfc(x));
UNARY(Gelu, x* T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440))));
UNARY(GeluTanh, T(0.5) * x * (T(1) + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))));
#undef UNARY

struct IsNan {
  template <class T> static bool f(T x) { return x != x; }
};
struct IsInf {
  template <class T> static bool f(T x) { return is_float<T> && std::fabs(x) == std::numeric_limits<T>::infinity(); }
};
struct SignBit {
  template <class T> static bool f(T x) {
    if constexpr (is_float<T>)
      return std::signbit(x);
    else
      return x < T(0);
  }
};
struct IsPositiveInf {
  template <class T> static bool f(T x) { return is_float<T> && x == std::numeric_limits<T>::infinity(); }
};
struct IsNegativeInf {
  template <class T> static bool f(T x) { return is_float<T> && x == -std::numeric_limits<T>::infinity(); }
};
struct IsFinite {
  template <class T> static bool f(T x) { return !is_float<T> || std::fabs(x) < std::numeric_limits<T>::infinity(); }
};

struct Table {
  std::array<PointwiseOp, 50> ops;
  size_t count = 0;

  constexpr PointwiseOp& add(const char* name, Rule rule) {
    PointwiseOp& op = ops[count++];
    op.name = name;
    op.rule = rule;
    return op;
  }
  template <class Op, class R = void> static constexpr void ints(PointwiseOp& op) {
    auto one = [&]<class T>(DType t, T) { op.put(t, unary_loop<Op, T, std::conditional_t<std::is_void_v<R>, T, R>>); };
    one(DType::u8, uint8_t{});
    one(DType::i8, int8_t{});
    one(DType::i16, int16_t{});
    one(DType::i32, int32_t{});
    one(DType::i64, int64_t{});
  }
  template <class Op, class R = void> static constexpr void floats(PointwiseOp& op) {
    auto one = [&]<class T>(DType t, T) { op.put(t, unary_loop<Op, T, std::conditional_t<std::is_void_v<R>, T, R>>); };
    one(DType::f32, float{});
    one(DType::f64, double{});
  }
  template <class Op> static constexpr void bools(PointwiseOp& op) {
    op.put(DType::b8, unary_loop<Op, uint8_t, uint8_t>);
  }
  template <class Op> constexpr void both(const char* name) {
    PointwiseOp& op = add(name, Rule::arithmetic);
    ints<Op>(op);
    floats<Op>(op);
  }
  template <class Op> constexpr void whole(const char* name) {  // the identity on integers
    PointwiseOp& op = add(name, Rule::arithmetic);
    ints<Same>(op);
    floats<Op>(op);
  }
  // Of functions: with loops of float32 and float64 elsewhere, or of float32 alone.
  constexpr PointwiseOp& elsewhere(const char* name, Rule rule = Rule::to_float) { return add(name, rule); }
  template <class Op> constexpr void function(const char* name, Rule rule = Rule::to_float) {
    elsewhere(name, rule).put(DType::f64, unary_loop<Op, double, double>);
  }
  template <class Op> constexpr void to_float(const char* name) { floats<Op>(add(name, Rule::to_float)); }
  template <class Op> constexpr void only_float(const char* name) { floats<Op>(add(name, Rule::arithmetic)); }
  template <class Op> constexpr void test(const char* name) {
    PointwiseOp& op = add(name, Rule::compare);
    ints<Op, uint8_t>(op);
    floats<Op, uint8_t>(op);
    bools<Op>(op);
  }

  constexpr Table() {
    both<Neg>("neg");
    both<Abs>("abs");
    ops[count - 1].real = true;
    both<Square>("square");
    both<Relu>("relu");
    for (const char* name : {"sign", "sgn"}) {  // PyTorch's sign refuses complex numbers
      both<Sign>(name);
      bools<Same>(ops[count - 1]);
    }
    whole<Floor>("floor");
    whole<Ceil>("ceil");
    whole<Round>("round");
    whole<Trunc>("trunc");
    only_float<Frac>("frac");
    elsewhere("silu", Rule::arithmetic);
    function<Gelu>("gelu", Rule::arithmetic);
    function<GeluTanh>("gelu_tanh", Rule::arithmetic);
    PointwiseOp& invert = add("bitwise_not", Rule::arithmetic);
    ints<Not>(invert), bools<BoolNot>(invert);
    bools<BoolNot>(add("logical_not", Rule::logical));
    test<IsNan>("isnan");
    test<IsInf>("isinf");
    test<IsFinite>("isfinite");
    test<SignBit>("signbit");
    test<IsPositiveInf>("isposinf");
    test<IsNegativeInf>("isneginf");
    functions();
  }

  constexpr void functions() {
    elsewhere("exp");
    function<Exp2>("exp2");
    function<Expm1>("expm1");
    elsewhere("log");
    function<Log2>("log2");
    function<Log10>("log10");
    function<Log1p>("log1p");
    to_float<Sqrt>("sqrt");
    function<Rsqrt>("rsqrt");
    elsewhere("sin");
    elsewhere("cos");
    function<Tan>("tan");
    function<Asin>("asin");
    function<Acos>("acos");
    function<Atan>("atan");
    function<Sinh>("sinh");
    function<Cosh>("cosh");
    elsewhere("tanh");
    elsewhere("sigmoid");
    function<Erf>("erf");
    function<Erfc>("erfc");
    to_float<Reciprocal>("reciprocal");
  }
};
constexpr Table kMade;

}  // namespace

static const NamedOps& unary_table() {
  static const NamedOps ops = [] {
    NamedOps all({kMade.ops.data(), kMade.count});
    for (PointwiseOp& op : all.ops) {
      if (op.rule != Rule::compare && op.rule != Rule::logical && !op.at(DType::f32) &&
          !op.at(DType::i32)) {  // elsewhere
        for (BlockKernel f : {math_kernel(op.name), special_math_kernel(op.name)})
          if (f) op.put(DType::f32, f);
        if (!op.at(DType::f64)) op.put(DType::f64, double_math_kernel(op.name));
      }
      for (DType t : {DType::f16, DType::bf16})
        if (BlockKernel f = half_kernel(op.name, t)) op.put(t, f);
    }
    return all;
  }();
  return ops;
}

const PointwiseOp* unary_op(const std::string& name) { return unary_table().find(name); }
std::span<const PointwiseOp> unary_ops() { return unary_table().ops; }

}  // namespace shim
