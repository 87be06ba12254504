// pybind11 casters of our types, both ways.
#include <torch/extension.h>

at::Tensor twice(const at::Tensor& x) { return x + x; }
torch::Tensor made(std::vector<int64_t> sizes, at::ScalarType type, at::Device device) {
  return torch::ones(sizes, torch::TensorOptions().dtype(type).device(device));
}
at::Tensor maybe(const at::Tensor& x, const std::optional<at::Tensor>& y) { return y.has_value() ? x + *y : x.clone(); }
std::vector<at::Tensor> halves(at::Tensor x) { return x.chunk(2, 0); }
std::tuple<at::Tensor, int64_t, double> several(at::Tensor x) {
  return {x.sum(), x.numel(), x.to(torch::kDouble).mean().item<double>()};
}
at::Tensor joined(const std::vector<at::Tensor>& all) { return torch::cat(all, 0); }
at::Tensor undefined() { return at::Tensor(); }
at::ScalarType type_of(const at::Tensor& x) { return x.scalar_type(); }
at::Device device_of_tensor(const at::Tensor& x) { return x.device(); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("twice", &twice, "doubles", py::arg("x"));
  m.def("made", &made, py::arg("sizes"), py::arg("type"), py::arg("device"));
  m.def("maybe", &maybe);
  m.def("halves", &halves);
  m.def("several", &several);
  m.def("joined", &joined);
  m.def("undefined", &undefined);
  m.def("type_of", &type_of);
  m.def("device_of", &device_of_tensor);
}
