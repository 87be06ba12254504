#pragma once
// Tensors of torch.func.functionalize, which are unwrapped before a kernel of C++ runs: none meets one.
#include <shim/torch.h>

namespace at {
struct AutoDispatchSkipFunctionalize {
  AutoDispatchSkipFunctionalize() {}
};
namespace functionalization {
namespace impl {
inline bool isFunctionalTensor(const at::Tensor&) { return false; }
inline void sync(const at::Tensor&) {}
inline at::Tensor from_functional_tensor(const at::Tensor&, bool = true) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "from_functional_tensor is not supported by shim-torch: kernels meet no functional tensors");
  return {};
}
inline void replace_(const at::Tensor&, const at::Tensor&) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "replace_ is not supported by shim-torch: kernels meet no functional tensors");
}
inline void commit_update(const at::Tensor&) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "commit_update is not supported by shim-torch: kernels meet no functional tensors");
}
}  // namespace impl
}  // namespace functionalization
}  // namespace at
