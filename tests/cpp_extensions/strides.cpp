// Elements of tensors of any strides by their linear index, limits of element types, many tensors as one, checks of arguments.
#include <ATen/Operators.h>
#include <ATen/ScalarType.h>
#include <ATen/TensorUtils.h>
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

// What the functions of ATen/TensorUtils.h say of arguments.
void argued(int which, const at::Tensor& x, const at::Tensor& y) {
  const at::CheckedFrom from = "argued";
  at::TensorArg a{x, "a", 1}, b{y, "b", 2};
  at::TensorGeometryArg g(a);
  switch (which) {
    case 0: at::checkDim(from, g, 2); break;
    case 1: at::checkDimRange(from, g, 1, 3); break;
    case 2: at::checkSize(from, g, {2, 4}); break;
    case 3: at::checkSize(from, g, 1, 4); break;
    case 4: at::checkNumel(from, g, 8); break;
    case 5: at::checkSameSize(from, a, b); break;
    case 6: at::checkAllSameSize(from, {a, b}); break;
    case 7: at::checkContiguous(from, g); break;
    case 8: at::checkAllContiguous(from, {a, b}); break;
    case 9: at::checkDefined(from, a); break;
    case 10: at::checkAllDefined(from, {a, b}); break;
    case 11: at::checkSameType(from, a, b); break;
    case 12: at::checkAllSameType(from, {a, b}); break;
    case 13: at::checkSameNumel(from, a, b); break;
    case 14: at::checkAllSameNumel(from, {a, b}); break;
    case 15: at::checkScalarType(from, a, at::kFloat); break;
    case 16: at::checkScalarTypes(from, a, {at::kFloat, at::kDouble}); break;
    case 17: at::checkSameGPU(from, a, b); break;
    case 18: at::checkAllSameGPU(from, {a, b}); break;
    case 19: at::checkSameDim(from, g, at::TensorGeometryArg(b)); break;
    case 20: at::checkDeviceType(from, {x, y}, at::kCPU); break;
    case 21: at::checkLayout(from, x, at::kStrided); break;
    case 22: at::check_dim_size(x, 2, 1, 4); break;
    case 23:
      TORCH_CHECK(a->dim() == (*a).dim() && a.pos == 1 && std::string(a.name) == "a" && g->dim() == a->dim());
      break;
    case 24: TORCH_CHECK(at::maybe_data_ptr(x) == x.data_ptr() && at::maybe_data_ptr(a) == x.data_ptr()); break;
    default: TORCH_CHECK(at::maybe_data_ptr(at::Tensor()) == nullptr);
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("elements", &elements);
  m.def("collapsed", &collapsed, py::arg("x"), py::arg("kept") = -1, py::arg("reduced") = -1);
  m.def("limits", &limits);
  m.def("flattened", &flattened);
  m.def("argued", &argued);
  m.def("device_types", [] { return int(at::DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES); });
  m.def("stepped", &stepped);
  m.def("narrow_indices", &narrow_indices);
}
