// torch::autograd::grad and backward, hooks, nodes, functions with several results.
#include <torch/extension.h>

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using torch::autograd::Variable;

struct Largest : torch::autograd::Function<Largest> {
  static tensor_list forward(AutogradContext* ctx, const Variable& x, int64_t dim, bool keep) {
    auto [values, at] = x.max(dim, keep);
    ctx->mark_non_differentiable({at});
    ctx->saved_data["dim"] = dim;
    ctx->saved_data["sizes"] = x.sizes();
    ctx->saved_data["text"] = "largest";
    ctx->save_for_backward({keep ? at : at.unsqueeze(dim)});
    return {values, at};
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    TORCH_CHECK(ctx->saved_data["text"].toStringRef() == "largest");
    TORCH_CHECK(ctx->saved_data.find("nothing") == ctx->saved_data.end());
    const auto dim = ctx->saved_data["dim"].toInt();
    auto made = at::zeros(ctx->saved_data["sizes"].toIntVector(), grads[0].options());
    return {made.scatter(dim, ctx->get_saved_variables().front(), grads[0].unsqueeze(dim)), {}, {}};
  }
};
std::tuple<at::Tensor, at::Tensor> largest(at::Tensor x, int64_t dim, bool keep) {
  auto all = Largest::apply(x, dim, keep);
  return std::make_tuple(all[0], all[1]);
}
struct Doubled : torch::autograd::Function<Doubled> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor x) {
    ctx->mark_dirty({x});
    x.mul_(2);
    return x;
  }
  static tensor_list backward(AutogradContext*, tensor_list grads) { return {grads[0] * 2}; }
};
std::vector<at::Tensor> second(at::Tensor x) {
  auto y = (x * x * x).sum();
  auto first = torch::autograd::grad({y}, {x}, {}, true, true);
  return {first[0].detach(), torch::autograd::grad({first[0].sum()}, {x})[0]};
}
std::vector<at::Tensor> unused(at::Tensor x, bool allowed) {
  auto other = torch::ones({2}, torch::requires_grad());
  auto y = (x * 2).sum();
  return torch::autograd::grad({y}, {x, other}, {torch::ones_like(y)}, false, false, allowed);
}
at::Tensor assigned(at::Tensor x) {
  auto leaf = x.detach().clone().set_requires_grad(true);
  auto y = leaf.pow(2).sum();
  y.backward({}, true);
  y.backward();
  auto g = leaf.grad().clone();
  leaf.mutable_grad() = torch::Tensor();
  TORCH_CHECK(!leaf.grad().defined());
  leaf.mutable_grad() = g * 3;
  torch::autograd::backward({leaf.sum()}, {});
  return leaf.grad();
}
at::Tensor hooked(at::Tensor x) {
  auto leaf = x.detach().clone().requires_grad_();
  auto y = leaf * 3;
  y.retain_grad();
  y.register_hook([](at::Tensor g) { return g * 2; });
  y.sum().backward();
  return torch::stack({leaf.grad(), y.grad()});
}
std::string node(at::Tensor x) { return x.grad_fn() ? x.grad_fn()->name() : "none"; }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  auto unlocked = py::call_guard<py::gil_scoped_release>();
  m.def("largest", &largest, py::arg("x"), py::arg("dim") = -1, py::arg("keep") = false);
  m.def("doubled", [](at::Tensor x) { return Doubled::apply(x); });
  m.def("second", &second, unlocked);
  m.def("unused", &unused, unlocked);
  m.def("assigned", &assigned, unlocked);
  m.def("hooked", &hooked, unlocked);
  m.def("node", &node);
}
