// Printing, options, values, dispatch of listed types, reductions in parallel, torch::nn::functional, classes that hold tensors.
#include <ATen/Dispatch_v2.h>
#include <ATen/Parallel.h>
#include <torch/extension.h>

namespace F = torch::nn::functional;

std::string printed(const at::Tensor& x) {
  std::ostringstream out;
  out << x << "|" << x.options() << "|" << x.layout() << "|" << x.toString();
  return out.str();
}
at::Tensor total(const at::Tensor& x) {
  auto out = at::zeros({1}, x.options());
  AT_DISPATCH_V2(x.scalar_type(), "total", AT_WRAP([&] {
    scalar_t sum(0), *p = x.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) sum = sum + p[i];
    out.data_ptr<scalar_t>()[0] = sum;
  }),
      AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), at::kHalf, at::kBool);
  return out;
}
double reduced(const at::Tensor& x) {
  auto* p = x.const_data_ptr<double>();
  return at::parallel_reduce(
      0, x.numel(), 100, 0.0,
      [&](int64_t from, int64_t to, double sum) {
        for (; from < to; ++from) sum += p[from];
        return sum;
      },
      std::plus<double>());
}
std::vector<at::Tensor> options() {
  auto a = torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true);
  TORCH_CHECK(a.has_requires_grad() && a.has_dtype() && !a.has_layout() && !a.has_device() && a.requires_grad());
  return {torch::zeros({2}, a).detach(), torch::rand({0, 2}, torch::dtype(torch::kBFloat16).device(torch::kCPU, -1)),
      at::zeros({1}, "cpu"), torch::tensor({{1, 2}, {3, 4}}), torch::tensor({{1.5}, {2.5}}), torch::tensor(true),
      torch::empty_strided({2, 2}, {1, 2}).fill_(1)};
}
std::vector<std::string> values(at::Tensor x) {
  c10::IValue i(3), s("text"), list(std::vector<int64_t>{1, 2}), tensors(std::vector<at::Tensor>{x});
  c10::IValue tuple = c10::ivalue::Tuple::create({i, s});
  c10::Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  c10::IValue entries(dict);
  return {i.tagKind(), s.tagKind(), list.tagKind(), tensors.tagKind(), tuple.tagKind(), entries.tagKind(),
      c10::str(c10::IValue(2.5)), c10::str(c10::IValue(true)), c10::str(c10::IValue()), c10::str(list), c10::str(tuple),
      c10::str(tuple.toTuple()->elements()[0].toInt()), c10::str(entries.toGenericDict().size()),
      c10::str(tensors.toTensorVector().size()), c10::str(at::canCast(at::kFloat, at::kInt))};
}
std::vector<at::Tensor> functional(at::Tensor x, at::Tensor w) {
  auto classes = torch::tensor({0, 2});
  return {F::relu(x), F::softmax(x, 1), F::log_softmax(x, F::LogSoftmaxFuncOptions(1)), F::linear(x, w), F::gelu(x),
      F::normalize(x, F::NormalizeFuncOptions().p(1).dim(1)), F::dropout(x, F::DropoutFuncOptions().p(0.0)),
      F::mse_loss(x, x * 2), F::mse_loss(x, x * 2, F::MSELossFuncOptions().reduction(torch::kSum)),
      F::layer_norm(x, F::LayerNormFuncOptions({4})), F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.1)),
      F::one_hot(classes, 3), F::embedding(torch::tensor({0, 1}), w), F::cross_entropy(x, classes),
      F::cosine_similarity(x, x + 1)};
}
std::vector<at::Tensor> seeded() {
  torch::manual_seed(7);
  auto g = at::detail::createCPUGenerator(3);
  return {torch::rand({2}), at::rand({2}, g), at::empty({2}).uniform_(0, 1, g)};
}
at::Tensor stored(at::Tensor x) {
  auto s = x.storage();
  at::Tensor y = at::empty({0}, x.options()).set_(s, 1, {2}, {1});
  TORCH_CHECK(s.nbytes() >= x.nbytes() && s.data() != nullptr && x.is_alias_of(y));
  return y.clone() + x.expect_contiguous()->size(0) + c10::MaybeOwned<at::Tensor>::borrowed(x)->dim();
}
struct Holder {
  Holder(at::Tensor t, std::string n) : tensor(std::move(t)), name(std::move(n)) {}
  std::map<std::string, at::Tensor> items() const { return {{"a", tensor}, {"b", tensor + 1}}; }
  at::Tensor tensor;
  std::string name;
};
enum class Mode { Add, Multiply };
at::Tensor defaults(at::Tensor x, std::optional<at::Tensor> y, at::ScalarType t, at::Device d, Mode mode,
    std::optional<at::ScalarType> out) {
  auto z = x.to(t).to(d);
  if (y) z = mode == Mode::Add ? z + *y : z * *y;
  return out ? z.to(*out) : z;
}
py::dict objects(py::object o) {
  TORCH_CHECK(THPVariable_Check(o.ptr()), "no tensor");
  py::dict made;
  made["sizes"] = py::cast(o.cast<at::Tensor>().sizes());
  return made;
}
at::Tensor checked(at::Tensor x, int which) {
  at::Tensor none;
  switch (which) {
    case 0: TORCH_CHECK_NE(x.dim(), x.dim()); break;
    case 1: none.data_ptr(); break;
    case 2: none.add(1); break;
    case 3: return x.to(at::Device("gpu"));
    case 4: return x.to(at::Device("cpu:x"));
    case 5: C10_THROW_ERROR(LinAlgError, "singular"); break;
    case 6: throw py::key_error("key"); break;
    default: TORCH_CHECK(none.numel() == 0 && !none.defined());
  }
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("printed", &printed);
  m.def("total", &total);
  m.def("reduced", &reduced);
  m.def("options", &options);
  m.def("values", &values);
  m.def("functional", &functional);
  m.def("seeded", &seeded);
  m.def("stored", &stored);
  m.def("objects", &objects);
  m.def("checked", &checked);
  py::class_<Holder>(m, "Holder")
      .def(py::init<at::Tensor, std::string>(), py::arg("tensor"), py::arg("name") = "x")
      .def_readwrite("tensor", &Holder::tensor)
      .def_readonly("name", &Holder::name)
      .def("items", &Holder::items);
  py::enum_<Mode>(m, "Mode").value("Add", Mode::Add).value("Multiply", Mode::Multiply);
  m.def("defaults", &defaults, py::arg("x"), py::arg("y") = py::none(), py::arg("t") = torch::kFloat32,
      py::arg("d") = torch::Device(torch::kCPU), py::arg("mode") = Mode::Add, py::kw_only(),
      py::arg("out") = std::nullopt);
}
