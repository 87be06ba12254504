#pragma once
// The iteration of pointwise kernels: broadcast operands become a nest of as few loops as their strides allow, and the
// innermost one works on blocks that are contiguous in the compute dtype (converted there if they are not).
#include "core/dense.h"
#include "ops/operand.h"

namespace shim {

constexpr int64_t kBlock = 512;  // elements of a conversion buffer

// How elements of one dtype become another's: by loops over packed elements, one after the other; none: they are moved.
struct Conversion {
  using Packed = void (*)(const char* from, char* to, int64_t n);
  Packed steps[4];
  uint8_t sizes[5];  // bytes of an element before the first step and after each
  uint8_t count;
  // n elements at `from`, `from + from_step`, ... converted to n at `to`, `to + to_step`, ... (steps in bytes).
  void operator()(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) const;

 private:
  void packed(const char* from, char* to, int64_t n) const;
};
const Conversion* converter(DType from, DType to);  // never null: NotImplementedError where there is none
void fill_packed(const void* element, void* to, size_t size, int64_t n);  // n copies of it, one after the other

struct Nest {
  int dims = 0, operands = 0;
  int64_t sizes[kMaxDims];                // [0] is the innermost loop
  int64_t steps[kMaxOperands][kMaxDims];  // bytes
  char* data[kMaxOperands];
};
Nest make_nest(IntArrayRef shape, const Operand* operands, int count);

// f(data, steps, n) for each innermost loop; `data` has one pointer and `steps` one byte step an operand. Threads share large nests.
using LoopFn = void (*)(void* context, char* const* data, const int64_t* steps, int64_t n);
void run_nest(const Nest&, LoopFn, void* context);

// One output, operands[0]; kernel(out, inputs, n) works on contiguous elements of dtype `in` giving dtype `result`.
using BlockKernel = void (*)(char* out, const char* const* in, int64_t n);
void run_blocks(IntArrayRef shape, const Operand* operands, int count, DType in, DType result, BlockKernel);

Tensor allocate_like(IntArrayRef shape, const TensorImpl* const* inputs, int count, DType,
    Device = {});  // keeps the inputs' order of dimensions

}  // namespace shim
