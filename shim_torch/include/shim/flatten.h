#pragma once
// Many dense tensors as one vector, and back.
#include <shim/torch.h>

namespace torch {
namespace utils {
inline at::Tensor flatten_dense_tensors(at::TensorList tensors) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& t : tensors) flat.push_back(t.contiguous().view({-1}));
  return at::cat(flat);
}
inline std::vector<at::Tensor> unflatten_dense_tensors(const at::Tensor& flat, at::TensorList like) {
  std::vector<at::Tensor> made;
  int64_t at = 0;
  for (const at::Tensor& t : like) {
    made.push_back(flat.narrow(0, at, t.numel()).view(t.sizes()));
    at += t.numel();
  }
  return made;
}
}  // namespace utils
}  // namespace torch
