#pragma once
// What running a pointwise kernel needs of its arguments: devices, dtypes and operands.
#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"
#include "cpu/pointwise.h"
#include "ops/cuda_kernels.h"

namespace shim {

namespace {

inline bool one_byte_float(DType t) { return itemsize(t) == 1 && is_floating(t); }
inline bool takes(const TensorImpl& t) {
  if (t.device().is_cuda()) return cuda::pointwise_dtype(t.dtype()) && cuda::elementwise_ready();
  return t.device().is_cpu() && !one_byte_float(t.dtype());
}

// The device of a result: with the tensors; 0-d CPU tensors follow the others. False: two devices, which the operator refuses.
inline bool device_of_all(std::initializer_list<const TensorImpl*> tensors, Device* where) {
  const TensorImpl* decides = nullptr;
  for (const TensorImpl* t : tensors)
    if (t && (!decides || (is_cpu_scalar(*decides) && !t->device().is_cpu()))) decides = t;
  *where = decides->device();
  for (const TensorImpl* t : tensors)
    if (t && !(t->device() == *where) && !is_cpu_scalar(*t)) return false;
  return true;
}

inline bool same_shape(IntArrayRef a, IntArrayRef b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

struct Args {  // operands of run_blocks; operands[0] is the output
  Operand operands[kMaxOperands];
  alignas(16) char numbers[kMaxOperands][16];
  Tensor copies[kMaxOperands];
  bool is_number[kMaxOperands] = {};
  int count = 1;

  void tensor(const TensorImpl& t, const Tensor& out, DType in) {
    if (t.device().is_cpu() && !out->device().is_cpu())  // a 0-d CPU tensor among CUDA ones is read here
      return number(item(Tensor(const_cast<TensorImpl*>(&t))), in);
    const TensorImpl* from = &t;
    if (clashes(*out, t)) {
      copies[count] = clone(Tensor(const_cast<TensorImpl*>(&t)));
      from = copies[count].get();
    }
    operands[count++] = Operand::of(*from);
  }
  void number(Scalar n, DType in) {
    store_number(numbers[count], in, n);
    operands[count] = {numbers[count], in, {}, {}};
    is_number[count] = true;
    ++count;
  }
};

// Runs the kernel on the output's device. False where CUDA has none: nothing is written then.
inline bool run(
    const char* op, IntArrayRef shape, const Tensor& out, Args& args, DType in, DType result, BlockKernel kernel) {
  if (out->device().is_cpu()) {
    run_blocks(shape, args.operands, args.count, in, result, kernel);
    return true;
  }
  cuda::Elementwise e{op, in, result, args.count, {}, {}};
  for (int k = 0; k < args.count; ++k) e.operands[k] = args.operands[k], e.numbers[k] = args.is_number[k];
  return cuda::run_elementwise(e, shape, out->device().index);
}

inline Dims broadcast_of(const TensorOrScalar& a, const TensorOrScalar& b) {
  if (!b.tensor) return Dims(a.tensor->sizes().begin(), a.tensor->sizes().end());
  if (!a.tensor) return Dims(b.tensor->sizes().begin(), b.tensor->sizes().end());
  return broadcast_shapes(a.tensor->sizes(), b.tensor->sizes());
}

inline DType common_dtype(const TensorOrScalar& a, const TensorOrScalar& b) {
  if (a.tensor && b.tensor && a.tensor->dtype() == b.tensor->dtype()) return a.tensor->dtype();
  Promotion p;
  for (const TensorOrScalar* i : {&a, &b}) i->tensor ? p.add(*i->tensor) : p.add(i->number);
  return p.result();
}

}  // namespace

}  // namespace shim
