// Elements of tensors of any strides by their linear index, limits of element types, many tensors as one.
#include <ATen/Operators.h>
#include <ATen/ScalarType.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/utils/tensor_flatten.h>
#include <torch/extension.h>

#ifndef __CUDACC__  // PyTorch's next three are for nvcc alone
#define __host__
#define __device__
#define __forceinline__ inline
#endif
#include <ATen/cuda/NumericLimits.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>

namespace indices = at::cuda::detail;

template <int Dims> std::vector<double> read(const at::Tensor& x) {
  std::vector<double> out;
  const auto info = indices::getTensorInfo<double, int>(x);
  for (int i = 0; i < x.numel(); ++i) out.push_back(info.data[indices::IndexToOffset<double, int, Dims>::get(i, info)]);
  return out;
}
std::vector<double> elements(const at::Tensor& x, bool known) {
  if (!known) return read<-1>(x);
  return x.dim() == 1 ? read<1>(x) : x.dim() == 2 ? read<2>(x) : read<3>(x);
}
std::vector<int64_t> collapsed(
    const at::Tensor& x, int kept, int reduced) {  // what is left, its strides, where `kept` is
  auto info = indices::getTensorInfo<double, int64_t>(x);
  if (reduced >= 0) info.reduceDim(reduced);
  const int64_t at = info.collapseDims(kept);
  std::vector<int64_t> out(info.sizes, info.sizes + info.dims);
  out.insert(out.end(), info.strides, info.strides + info.dims);
  out.push_back(at);
  out.push_back(info.isContiguous());
  return out;
}
template <class T> std::vector<double> limits_of() {
  using L = at::numeric_limits<T>;
  return {double(L::lowest()), double(L::max()), double(L::lower_bound()), double(L::upper_bound())};
}
std::vector<double> limits(at::ScalarType t) {
  if (t == at::kHalf) return limits_of<at::Half>();
  if (t == at::kBFloat16) return limits_of<at::BFloat16>();
  return AT_DISPATCH_ALL_TYPES_AND(at::kBool, t, "limits", [&] { return limits_of<scalar_t>(); });
}
std::vector<at::Tensor> flattened(std::vector<at::Tensor> tensors) {
  auto flat = torch::utils::flatten_dense_tensors(tensors);
  auto out = torch::utils::unflatten_dense_tensors(flat * 2, tensors);
  out.insert(out.begin(), flat);
  return out;
}
int64_t stepped(at::Tensor x) {
  torch::autograd::increment_version(x);
  return x._version();
}
std::vector<bool> narrow_indices(const at::Tensor& x) {
  return {indices::canUse32BitIndexMath(x), indices::canUse32BitIndexMath(x, 5)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("elements", &elements);
  m.def("collapsed", &collapsed, py::arg("x"), py::arg("kept") = -1, py::arg("reduced") = -1);
  m.def("limits", &limits);
  m.def("flattened", &flattened);
  m.def("stepped", &stepped);
  m.def("narrow_indices", &narrow_indices);
}
