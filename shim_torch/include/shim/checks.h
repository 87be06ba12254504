#pragma once
// Checks of arguments that name the argument and the function in their errors (ATen/TensorUtils.h).
#include <shim/functions.h>

namespace at {

using CheckedFrom = const char*;
struct TensorArg {
  TensorArg(const Tensor& t, const char* n, int p) : tensor(t), name(n), pos(p) {}
  TensorArg(Tensor&&, const char*, int) = delete;  // what is checked outlives its checks
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
  const Tensor& tensor;
  const char* name;
  int pos;  // from 1
};
struct TensorGeometryArg {
  TensorGeometryArg(TensorArg a) : tensor(a.tensor), name(a.name), pos(a.pos) {}
  TensorGeometryArg(Tensor t, const char* n, int p) : tensor(std::move(t)), name(n), pos(p) {}
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
  Tensor tensor;
  const char* name;
  int pos;
};
inline std::ostream& operator<<(std::ostream& out, const TensorGeometryArg& a) {
  return out << (a.pos ? "argument #" + std::to_string(a.pos) : std::string("argument")) << " '" << a.name << "'";
}
inline std::ostream& operator<<(std::ostream& out, const TensorArg& a) { return out << TensorGeometryArg(a); }

#define SHIM_CHECK_ARGUMENT(condition, ...) \
  TORCH_CHECK(condition, __VA_ARGS__, " (while checking arguments for ", from, ")")

inline void checkDim(CheckedFrom from, const Tensor& t, const char* name, int pos, int64_t n) {
  SHIM_CHECK_ARGUMENT(t.dim() == n, "Expected ", n, "-dimensional tensor, but got ", t.dim(),
      "-dimensional tensor for ", TensorGeometryArg(t, name, pos));
}
inline void checkDim(CheckedFrom from, const TensorGeometryArg& a, int64_t n) { checkDim(from, *a, a.name, a.pos, n); }
inline void checkDimRange(CheckedFrom from, const TensorGeometryArg& a, int64_t least, int64_t end) {
  SHIM_CHECK_ARGUMENT(a->dim() >= least && a->dim() < end, "Expected ", least, " to ", end - 1, " dimensions, but got ",
      a->dim(), "-dimensional tensor for ", a);
}
inline void checkSize(CheckedFrom from, const TensorGeometryArg& a, IntArrayRef sizes) {
  checkDim(from, a, int64_t(sizes.size()));
  SHIM_CHECK_ARGUMENT(
      a->sizes() == sizes, "Expected tensor of size ", sizes, ", but got tensor of size ", a->sizes(), " for ", a);
}
inline void checkSize(CheckedFrom from, const TensorGeometryArg& a, int64_t dim, int64_t size) {
  SHIM_CHECK_ARGUMENT(a->size(dim) == size, "Expected tensor to have size ", size, " at dimension ", dim,
      ", but got size ", a->size(dim), " for ", a);
}
inline void checkNumel(CheckedFrom from, const TensorGeometryArg& a, int64_t n) {
  SHIM_CHECK_ARGUMENT(a->numel() == n, "Expected tensor for ", a, " to have ", n, " elements; but it actually has ",
      a->numel(), " elements");
}
inline void checkContiguous(CheckedFrom from, const TensorGeometryArg& a) {
  SHIM_CHECK_ARGUMENT(a->is_contiguous(), "Expected contiguous tensor, but got non-contiguous tensor for ", a);
}
inline void checkDefined(CheckedFrom from, const TensorArg& a) {
  SHIM_CHECK_ARGUMENT(a->defined(), "Expected tensor for ", a, " to be non-null, but it was undefined ");
}
inline void checkSameSize(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  SHIM_CHECK_ARGUMENT(a->sizes() == b->sizes(), "Expected tensor for ", a, " to have same size as tensor for ", b,
      "; but ", a->sizes(), " does not equal ", b->sizes());
}
inline void checkSameNumel(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  SHIM_CHECK_ARGUMENT(a->numel() == b->numel(), "Expected tensor for ", a,
      " to have same number of elements as tensor for ", b, "; but ", a->numel(), " does not equal ", b->numel());
}
inline void checkSameDim(CheckedFrom from, const TensorGeometryArg& a, const TensorGeometryArg& b) {
  SHIM_CHECK_ARGUMENT(a->dim() == b->dim(), "Expected tensor for ", a, " to have the same dimension as tensor for ", b,
      "; but ", a->dim(), " does not equal ", b->dim());
}
}  // namespace at
namespace shim {
inline std::string type_name(const at::Tensor& t) {  // torch.cuda.FloatTensor
  const std::string dtype = c10::toString(t.scalar_type());
  if (t.device().is_meta()) return "Meta" + dtype + "Type";
  return std::string("torch.") + (t.is_cuda() ? "cuda." : "") + (t.is_sparse() ? "sparse." : "") + dtype + "Tensor";
}
}  // namespace shim
namespace at {
inline void checkSameType(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  const bool same = a->scalar_type() == b->scalar_type() && a->device().type() == b->device().type();
  SHIM_CHECK_ARGUMENT(same && a->layout() == b->layout(), "Expected tensor for ", a,
      " to have the same type as tensor for ", b, "; but type ", shim::type_name(*a), " does not equal ",
      shim::type_name(*b));
}
inline void checkSameGPU(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  std::ostringstream on_cpu;
  for (const TensorArg* one : {&a, &b})
    if ((*one)->is_cpu()) on_cpu << "Tensor for " << *one << " is on CPU, ";
  SHIM_CHECK_ARGUMENT(on_cpu.str().empty(), on_cpu.str(), "but expected it to be on GPU");
  SHIM_CHECK_ARGUMENT(a->get_device() == b->get_device(), "Expected tensor for ", a,
      " to have the same device as tensor for ", b, "; but device ", int64_t(a->get_device()), " does not equal ",
      int64_t(b->get_device()));
}
inline void checkScalarTypes(CheckedFrom from, const TensorArg& a, ArrayRef<ScalarType> types) {
  std::ostringstream names;
  bool found = false;
  for (size_t i = 0; i < types.size(); ++i) {
    names << (i ? ", " : "") << toString(types[i]);
    found |= a->scalar_type() == types[i];
  }
  SHIM_CHECK_ARGUMENT(found, "Expected tensor for ", a, " to have one of the following scalar types: ", names.str(),
      "; but got ", shim::type_name(*a), " instead");
}
inline void checkScalarType(CheckedFrom from, const TensorArg& a, ScalarType type) {
  SHIM_CHECK_ARGUMENT(a->scalar_type() == type, "Expected tensor for ", a, " to have scalar type ", toString(type),
      "; but got ", shim::type_name(*a), " instead");
}
// Of every two neighbours that are defined, in the order given.
#define SHIM_CHECK_ALL(name, check)                                 \
  inline void name(CheckedFrom from, ArrayRef<TensorArg> tensors) { \
    const TensorArg* first = nullptr;                               \
    for (const TensorArg& one : tensors) {                          \
      if (!one->defined()) continue;                                \
      if (first) check(from, *first, one);                          \
      if (!first) first = &one;                                     \
    }                                                               \
  }
SHIM_CHECK_ALL(checkAllSameSize, checkSameSize)
SHIM_CHECK_ALL(checkAllSameNumel, checkSameNumel)
SHIM_CHECK_ALL(checkAllSameType, checkSameType)
SHIM_CHECK_ALL(checkAllSameGPU, checkSameGPU)
#undef SHIM_CHECK_ALL
inline void checkAllContiguous(CheckedFrom from, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& one : tensors)
    if (one->defined()) checkContiguous(from, one);
}
inline void checkAllDefined(CheckedFrom from, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& one : tensors) checkDefined(from, one);
}
inline void checkDeviceType(CheckedFrom from, const Tensor& t, DeviceType type) {
  SHIM_CHECK_ARGUMENT(!t.defined() || t.device().type() == type, "Expected tensor to have ", type,
      " DeviceType, but got tensor with ", t.device().type(), " DeviceType");
}
inline void checkDeviceType(CheckedFrom from, TensorList tensors, DeviceType type) {
  for (const Tensor& t : tensors) checkDeviceType(from, t, type);
}
inline void checkLayout(CheckedFrom from, const Tensor& t, Layout layout) {
  SHIM_CHECK_ARGUMENT(!t.defined() || t.layout() == layout, "Expected tensor to have ", layout,
      " Layout, but got tensor with ", t.layout(), " Layout");
}
inline void checkLayout(CheckedFrom from, TensorList tensors, Layout layout) {
  for (const Tensor& t : tensors) checkLayout(from, t, layout);
}
#undef SHIM_CHECK_ARGUMENT
inline void check_dim_size(const Tensor& t, int64_t dim, int64_t dim_size, int64_t size) {
  TORCH_CHECK(t.dim() == dim && t.size(dim_size) == size, "Expected a tensor of dimension ", dim, " and tensor.size[",
      dim_size, "] == ", size, " but got: dimension ", t.dim(), " and tensor.size[", dim_size,
      "] = ", t.size(dim_size));
}
inline void* maybe_data_ptr(const Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }
inline void* maybe_data_ptr(const TensorArg& a) { return maybe_data_ptr(*a); }

}  // namespace at
