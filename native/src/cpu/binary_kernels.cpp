// The loops of binary operators.
#include <complex>

#include "cpu/binary_functors.h"
#include "cpu/kernel_table.h"

namespace shim {

namespace {

template <class Op, class T> void scalar_loop(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]);
  auto* r = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = Op::f(a[i], b[i]);
}

template <class Op, class T> using LoopType = std::conditional_t<kSignless<Op>, std::make_unsigned_t<T>, T>;
template <class Op, class T> constexpr BlockKernel integer_loop() {
  if constexpr (kDivides<Op>)
    return scalar_loop<Op, T>;
  else
    return binary_loop<Op, LoopType<Op, T>, LoopType<Op, T>>;
}

// a > b and b < a are one loop, of which there is one copy.
template <class Op, class T>
SHIM_CLONES __attribute__((noinline)) void compare_loop(char* out, const char* left, const char* right, int64_t n) {
  auto *a = reinterpret_cast<const T*>(left), *b = reinterpret_cast<const T*>(right);
  auto* r = reinterpret_cast<uint8_t*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = Op::f(a[i], b[i]);
}
template <class Op, class T, bool turned> void compare(char* out, const char* const* in, int64_t n) {
  compare_loop<Op, T>(out, in[turned], in[!turned], n);
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
  // f(dtype, zero) for all whole numbers.
  template <class F> static constexpr void each_whole(F&& f) {
    f(DType::u8, uint8_t{}), f(DType::i8, int8_t{}), f(DType::i16, int16_t{}), f(DType::i32, int32_t{});
    f(DType::i64, int64_t{}), f(DType::u16, uint16_t{}), f(DType::u32, uint32_t{}), f(DType::u64, uint64_t{});
  }
  template <class Op> static constexpr void ints(PointwiseOp& op) {
    each_whole([&]<class T>(DType t, T) { op.put(t, integer_loop<Op, T>()); });
  }
  template <class Op> static constexpr void floats(PointwiseOp& op) {
    op.put(DType::f32, binary_loop<Op, float, float>), op.put(DType::f64, binary_loop<Op, double, double>);
  }
  template <class Op> static constexpr void complexes(PointwiseOp& op) {
    op.put(DType::c64, binary_loop<Op, std::complex<float>, std::complex<float>>);
    op.put(DType::c128, binary_loop<Op, std::complex<double>, std::complex<double>>);
  }
  template <class Op> static constexpr void bools(PointwiseOp& op) {
    op.put(DType::b8, binary_loop<Op, uint8_t, uint8_t>);
  }
  template <class Op, bool turned> constexpr PointwiseOp& compared(const char* name) {
    PointwiseOp& op = add(name, Rule::compare);
    each_whole([&]<class T>(DType t, T) { op.put(t, compare<Op, LoopType<Op, T>, turned>); });
    op.put(DType::b8, compare<Op, uint8_t, turned>);
    op.put(DType::f32, compare<Op, float, turned>), op.put(DType::f64, compare<Op, double, turned>);
    return op;
  }
  template <class Op> constexpr void equal(const char* name) {
    PointwiseOp& op = compared<Op, false>(name);
    op.put(DType::c64, compare<Op, std::complex<float>, false>);
    op.put(DType::c128, compare<Op, std::complex<double>, false>);
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
    compared<Gt, false>("gt");
    compared<Gt, true>("lt");
    compared<Ge, false>("ge");
    compared<Ge, true>("le");
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
