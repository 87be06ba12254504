#pragma once
// The table of pointwise kernels: name -> how dtypes are chosen, and one contiguous loop a compute dtype.
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device.h"
#include "cpu/loops.h"

// Builds of a loop for the processors that it may meet, chosen when the program is loaded. Where AVX2 is the least that the build asks
// for (SHIM_X86_64_LEVEL), there is one for that and one for AVX-512.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#ifdef __AVX2__
#define SHIM_CLONES
#else
#define SHIM_CLONES __attribute__((target_clones("avx2", "default")))
#endif
// For loops of arithmetic on loaded elements: wider vectors and fused multiplication too. By the levels of the x86-64 ABI, which ask
// for features: a clone for "arch=haswell" runs on Haswells only, no other processor that has the same instructions.
// Narrow ones do without AVX-512: it has a function of its own (vectors.h), or nothing to give.
#if __GNUC__ < 12
#define SHIM_MATH_CLONES SHIM_CLONES
#define SHIM_NARROW_CLONES SHIM_CLONES
#elif defined(__AVX2__)
#define SHIM_MATH_CLONES __attribute__((target_clones("arch=x86-64-v4", "default")))
#define SHIM_NARROW_CLONES
#else
#define SHIM_MATH_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define SHIM_NARROW_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#else
#define SHIM_CLONES
#define SHIM_MATH_CLONES
#define SHIM_NARROW_CLONES
#endif

namespace shim {

enum class Rule : uint8_t {
  arithmetic,  // computed and given in the promoted dtype
  to_float,    // integers become the default floating dtype
  compare,     // computed in the promoted dtype, gives bool
  logical,     // computed on truth values, gives bool
};

struct PointwiseOp {
  const char* name = nullptr;
  Rule rule = Rule::arithmetic;
  bool real = false;  // gives real numbers of complex ones
  std::array<BlockKernel, kDTypeSlots> kernels{};
  BlockKernel at(DType t) const { return kernels[size_t(t)]; }
  constexpr void put(DType t, BlockKernel f) { kernels[size_t(t)] = f; }
  // Whether a number (or a tensor of no dims) in the place of an operand stays in the compute dtype. Else it is rounded to the promoted
  // dtype first: PyTorch has kernels for numbers of fewer operators on a CPU than on CUDA.
  bool keeps_number(size_t operand, Device) const;
  // Whether the elements of such a tensor in that place are first rounded to the promoted dtype: on a CPU a 16-bit result is of
  // rounded operands.
  bool rounds(size_t operand, Device, DType of, bool no_dims, DType promoted) const;
};

// Operators by name. The tables of loops are constants, which are data and no code: hundreds of assignments took a second to compile.
struct NamedOps {
  std::vector<PointwiseOp> ops;  // never grows
  std::unordered_map<std::string, const PointwiseOp*> names;
  explicit NamedOps(std::span<const PointwiseOp> made) : ops(made.begin(), made.end()) {
    for (const PointwiseOp& op : ops) names[op.name] = &op;
  }
  const PointwiseOp* find(const std::string& name) const {
    auto it = names.find(name);
    return it == names.end() ? nullptr : it->second;
  }
};

const PointwiseOp* unary_op(const std::string& name);  // null if there is none
const PointwiseOp* binary_op(const std::string& name);
std::span<const PointwiseOp> unary_ops();  // all of them
std::span<const PointwiseOp> binary_ops();
const PointwiseOp& add_scaled();  // a + alpha * b, three inputs

const PointwiseOp& where_op();  // three inputs: condition (not 0), a, b
// operands: the output, a bool mask, and what to take where it is true and where it is not, all of the output's dtype. False: not so.
bool select(IntArrayRef shape, const Operand (&operands)[4]);
const PointwiseOp& clamp_op();  // three inputs: x, least, most

BlockKernel math_kernel(const char* name);  // the float32 loop of a function, vectorised; null if there is none
BlockKernel special_math_kernel(const char* name);
BlockKernel binary_math_kernel(const char* name);
// For float16 and bfloat16 inputs as they are, contiguous; null if there is none. Kept in the table at their own dtypes, which no
// operator computes in.
BlockKernel half_kernel(const char* name, DType);
BlockKernel half_number_kernel(const char* name, DType);  // the second input is one float32 number

DType compute_dtype(DType t);  // float32 for the 16-bit floats, complex64 for complex32

template <class Op, class T, class R> SHIM_CLONES void unary_loop(char* out, const char* const* in, int64_t n) {
  auto* a = reinterpret_cast<const T*>(in[0]);
  auto* r = reinterpret_cast<R*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = R(Op::f(a[i]));
}

template <class Op, class T, class R> SHIM_CLONES void binary_loop(char* out, const char* const* in, int64_t n) {
  auto* a = reinterpret_cast<const T*>(in[0]);
  auto* b = reinterpret_cast<const T*>(in[1]);
  auto* r = reinterpret_cast<R*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = R(Op::f(a[i], b[i]));
}

}  // namespace shim
