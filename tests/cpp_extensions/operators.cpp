// Operators, indexing, options, factories, tensors over memory, scalars, state.
#include <torch/extension.h>

using namespace torch::indexing;

std::string text(const at::Tensor& x) {
  std::ostringstream out;
  out << x.sizes() << " " << x.strides() << " " << x.scalar_type() << " " << x.dtype() << " " << x.device() << " "
      << x.type() << " " << x.is_contiguous() << x.is_floating_point() << x.requires_grad() << " " << x.element_size()
      << " " << x.storage_offset();
  return out.str();
}
std::vector<at::Tensor> indexed(at::Tensor x) {
  auto mask = x.select(0, 0) > 1;
  return {x.index({0}), x.index({Slice(), 1}), x.index({Slice(None, None, 2), None}), x.index({"...", -1}),
      x.index({Slice(), mask}), x.index({torch::tensor({1, 0}), torch::tensor({2, 0})}), x[1][2]};
}
at::Tensor written(at::Tensor x) {
  x = x.clone();
  x[0] = 5;
  x[1] = x[0] * 2;
  x.index_put_({Slice(), 1}, torch::zeros({x.size(0)}, x.options()));
  x.index_put_({torch::tensor({0})}, -1);
  return x;
}
std::vector<at::Tensor> factories() {
  auto options = torch::TensorOptions().dtype(torch::kInt32).device(torch::kCPU).layout(torch::kStrided);
  return {torch::zeros({2, 2}, options), torch::full({2}, 3.5), torch::full({2}, 7, torch::kLong), torch::arange(4),
      torch::arange(1, 4, options), torch::tensor({1.5, 2.5}), torch::tensor(3), torch::linspace(0, 1, 3),
      torch::eye(2), torch::ones_like(torch::zeros({1, 2}, at::kDouble))};
}
std::vector<at::Tensor> arithmetic(at::Tensor x, at::Tensor y) {
  at::Tensor z = x.clone();
  z += 1;
  z *= y;
  z -= x;
  z /= 2;
  return {x + y, x - 1, 2 - x, 2 * y, 1 / y, -x, x == y, x > 1, (x > 1) & (y > 1), z, x.sum(0, true), x.sum({0, 1}),
      x.mean(1), x.std(0), std::get<0>(x.max(1)), std::get<1>(x.max(1)), x.view({-1}), x.reshape({3, 2}), x.t(),
      x.permute({1, 0}), torch::where(x > y, x, y), x.pow(2), x.clamp(0, 2)};
}
at::Tensor int_plus_one(at::Tensor x) { return x + 1; }
at::Tensor blob() {
  static float memory[6] = {1, 2, 3, 4, 5, 6};
  return torch::from_blob(memory, {2, 3}).clone() + torch::from_blob(memory, {2, 3}, {1, 2}, torch::kFloat);
}
at::Tensor with_deleter(py::function f) {
  auto* memory = new float[2]{1, 2};
  return torch::from_blob(memory, {2}, [held = new py::function(f)](void* p) {
    py::gil_scoped_acquire gil;
    (*held)();
    delete held;
    delete[] static_cast<float*>(p);
  });
}
std::vector<bool> modes(at::Tensor x) {
  std::vector<bool> all{(x * 2).requires_grad(), torch::GradMode::is_enabled()};
  torch::NoGradGuard guard;
  all.push_back((x * 2).requires_grad());
  all.push_back(torch::GradMode::is_enabled());
  return all;
}
at::Tensor gradient() {
  auto x = torch::ones({2, 2}, torch::requires_grad());
  (x * x * 3).sum().backward();
  return x.grad();
}
at::Tensor out_form(at::Tensor x) {
  auto out = torch::empty({0}, x.options());
  at::add_out(out, x, x);
  return out;
}
at::Tensor converted(at::Tensor x, at::Tensor like) {
  return x.to(like.dtype()) + x.to(like.options()) + x.to(torch::kCPU) + x.toType(at::kDouble);
}
namespace F = torch::nn::functional;
at::Tensor padded(at::Tensor x) {
  return F::pad(x, F::PadFuncOptions({1, 0})) + F::pad(x, F::PadFuncOptions({2, -1}).mode(torch::kConstant).value(2));
}
at::Tensor reflected(at::Tensor x) { return F::pad(x, F::PadFuncOptions({2, 1}).mode(torch::kReflect)); }
std::vector<at::Tensor> drawn(at::Generator g) {
  auto first = torch::randperm(5);
  return {first, torch::randperm(5, g, torch::kLong), torch::randperm(3, torch::dtype(at::kInt).layout(at::kStrided))};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("text", &text);
  m.def("indexed", &indexed);
  m.def("written", &written);
  m.def("factories", &factories);
  m.def("arithmetic", &arithmetic);
  m.def("int_plus_one", &int_plus_one);
  m.def("blob", &blob);
  m.def("with_deleter", &with_deleter);
  m.def("modes", &modes);
  m.def("gradient", &gradient, py::call_guard<py::gil_scoped_release>());
  m.def("out_form", &out_form);
  m.def("padded", &padded);
  m.def("reflected", &reflected);
  m.def("drawn", &drawn);
  m.def("converted", &converted);
}
