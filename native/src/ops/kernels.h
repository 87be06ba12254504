#pragma once
// Native kernels. They are pure: inputs are checked and of equal device; no autograd, no Python.
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace shim {

// A number argument: alpha, the Python number in `x + 2`.
struct Scalar {
  enum Type : uint8_t { Bool, Int, Float, Complex } type = Int;
  int64_t i = 0;
  double f = 0, imag = 0;
  bool big = false;  // i holds the bits of an integer of 2**63 or more
  double to_double() const { return type == Float || type == Complex ? f : big ? double(uint64_t(i)) : double(i); }
};

struct TensorOrScalar {  // the `other` of x.add(y) and x.add(2): a tensor, or a number where it is null
  const TensorImpl* tensor = nullptr;
  Scalar number;
};

// Type promotion over tensors and numbers, PyTorch's three categories (dimensioned tensors, 0-d tensors, numbers).
struct Promotion {
  void add(const TensorImpl&);
  void add(Scalar);
  void add(DType, int ndim, bool wrapped);
  DType result() const;
  DType dim_ = DType::undefined, zero_ = DType::undefined, number_ = DType::undefined;
};
DType result_type(const Tensor&, const Tensor&);

// --- pointwise (cpu/pointwise*.cpp). Broadcasts, promotes, iterates any strides; out is allocated by the kernel if null.
// Returns null when this device or dtype has no native kernel: the caller then runs the record's body.
Tensor unary(const std::string& name, const Tensor& self,
    Tensor out = {});  // neg abs exp log sqrt sigmoid relu gelu gelu_tanh ...
// sub mul div floor_divide div_trunc remainder fmod pow maximum minimum eq lt ... logical_and bitwise_and ...
Tensor binary(const std::string& name, const Tensor& a, const Tensor& b, Tensor out = {});
Tensor add(const Tensor& a, const Tensor& b, Scalar alpha, Tensor out = {});
Tensor scalar_tensor(Scalar, DType, Device);  // wrapped_number is set

// --- memory (cpu/copy.cpp; cuda/copy.cpp) -------------------------------------------------------------------------------
void copy_(const Tensor& self, const Tensor& src, bool non_blocking = false);  // broadcasts, casts, crosses devices
void copy_parts(
    const Tensor& self, std::span<const TensorImpl* const> parts, int64_t dim);  // one after the other along `dim`
void fill_(const Tensor& self, Scalar value);
void check_fits(Scalar, DType);         // RuntimeError where the dtype cannot hold the number
Tensor to_dtype(const Tensor&, DType);  // always a copy
inline Tensor of_dtype(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }
Tensor contiguous(const Tensor&);
inline Tensor packed(const TensorImpl& t) {
  return contiguous(Tensor(const_cast<TensorImpl*>(&t)));
}  // itself where it is contiguous
inline int64_t product_of(IntArrayRef d, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= d[i];
  return n;
}
Tensor clone(const Tensor&, MemoryFormat = MemoryFormat::preserve);
Scalar item(const Tensor&);                                   // synchronises
Dims strides_in_order_of(const TensorImpl& like);             // without gaps, the dims in memory in the order of like's
Tensor laid_out_as(const Tensor& t, const TensorImpl& like);  // t with its dims in memory in the order of like's
Tensor sum_to_size(const Tensor&, IntArrayRef);

// --- dtype conversion of single elements (cpu/convert.h holds the inline forms) --------------------------------------
double load_as_double(const void* p, DType);
void store_number(void* p, DType, Scalar);

}  // namespace shim
