// Operators of a library and autograd functions; no Python module.
#include <torch/all.h>
#include <torch/library.h>

namespace {

at::Tensor scaled(const at::Tensor& x, const at::Scalar& by, std::optional<int64_t> plus) {
  return plus ? x * by + *plus : x * by;
}
std::tuple<at::Tensor, int64_t> counted(
    const at::Tensor& x, at::IntArrayRef sizes, std::string text, bool flag, double f) {
  return {x.reshape(sizes) * f, int64_t(text.size()) + flag};
}
void fill_with(at::Tensor& x, const at::Scalar& v) { x.fill_(v); }
at::Tensor total(at::TensorList all) {
  at::Tensor sum = all[0].clone();
  for (size_t i = 1; i < all.size(); ++i) sum += all[i];
  return sum;
}
at::Tensor fails(const at::Tensor& x) {
  TORCH_CHECK_VALUE(false, "refused ", x.sizes());
  return x;
}
at::Tensor thrown(const at::Tensor& x, int64_t which) {
  if (which == 0) throw std::out_of_range("of the standard library");
  if (which == 1) return at::full({1}, *x.data_ptr<float>());
  return x + 1;  // Python's code may stand behind an operator
}

struct Square : torch::autograd::Function<Square> {
  static at::Tensor forward(
      torch::autograd::AutogradContext* ctx, at::Tensor x, double scale, std::optional<at::Tensor> bias) {
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["sizes"] = x.sizes();
    ctx->saved_data["biased"] = bias.has_value();
    auto y = x * x * scale;
    return bias ? y + *bias : y;
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    auto x = ctx->get_saved_variables()[0];
    TORCH_CHECK(int64_t(ctx->saved_data["sizes"].toIntVector().size()) == x.dim());
    at::Tensor bias = ctx->saved_data["biased"].toBool() ? grads[0] : at::Tensor();
    return {grads[0] * x * 2 * ctx->saved_data["scale"].toDouble(), at::Tensor(), bias};
  }
};
at::Tensor square(const at::Tensor& x, double scale, const std::optional<at::Tensor>& bias) {
  return Square::apply(x, scale, bias);
}

using Tensors = c10::Dict<std::string, at::Tensor>;
Tensors multiplied(const Tensors& all, const c10::Dict<std::string, int64_t>& by) {
  Tensors made;
  for (const auto& entry : all) made.insert(entry.key(), entry.value() * by.at(entry.key()));
  return made;
}
// A dictionary keeps the order in which its keys came; lists hold tuples.
using Edge = std::tuple<std::string, std::string, int64_t>;
std::tuple<Tensors, std::vector<Edge>, std::tuple<int64_t, double>> routed(
    const std::vector<Edge>& edges, const Tensors& nodes, std::tuple<int64_t, double> scale) {
  Tensors made;
  std::vector<Edge> back;
  for (const auto& [from, to, times] : edges) {
    made.insert(from + to, nodes.at(from) * times * std::get<1>(scale));
    back.insert(back.begin(), Edge(to, from, times + std::get<0>(scale)));
  }
  made.insert(std::get<0>(edges[0]) + std::get<1>(edges[0]), at::zeros({1}));  // is there already
  for (const auto& node : nodes) made.insert_or_assign(node.key(), node.value());
  made.erase("zz");
  TORCH_CHECK(made.find("b")->key() == "b" && made.find("none") == made.end() && !made.empty());
  made.find("b")->setValue(at::ones({1}));
  return {made, back, scale};
}
at::Scalar next(const at::Scalar& x) {
  return x.isFloatingPoint() ? at::Scalar(x.toDouble() + 1) : at::Scalar(x.toLong() + 1);
}

}  // namespace

TORCH_LIBRARY(shim_cxx_test, m) {
  m.def("scaled(Tensor x, Scalar by, int? plus=None) -> Tensor");
  m.def("counted(Tensor x, int[] sizes, str text, bool flag=True, *, float f=2.0) -> (Tensor, int)");
  m.def("fill_with(Tensor(a!) x, Scalar v) -> ()");
  m.def("total(Tensor[] all) -> Tensor", &total);
  m.def("fails(Tensor x) -> Tensor", &fails);
  m.def("thrown(Tensor x, int which) -> Tensor", &thrown);
  m.def("square(Tensor x, float scale, Tensor? bias=None) -> Tensor", &square);
  m.def("multiplied", &multiplied);
  m.def("routed", &routed);
  m.def("next", &next);
  m.def("inferred", [](at::Tensor x, int64_t n, const std::vector<int64_t>& sizes) { return x.add(n).reshape(sizes); });
}
TORCH_LIBRARY_IMPL(shim_cxx_test, CPU, m) {
  m.impl("scaled", &scaled);
  m.impl("counted", TORCH_FN(counted));
  m.impl("fill_with", &fill_with);
}
static auto registry =
    torch::RegisterOperators().op("shim_cxx_test::old_way", [](const at::Tensor& x) { return x.neg(); });
