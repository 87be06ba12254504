// Custom classes, the dispatcher, kernels of Autograd keys; no Python module.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/all.h>
#include <torch/custom_class.h>
#include <torch/library.h>

namespace {

at::Tensor multiplied(const at::Tensor& a, const at::Tensor& b, double c) {
  at::Tensor x = a.contiguous(), y = b.contiguous(), made = torch::empty(x.sizes(), x.options());
  for (int64_t i = 0; i < made.numel(); ++i)
    made.mutable_data_ptr<float>()[i] = float(x.const_data_ptr<float>()[i] * y.data_ptr<float>()[i] + c);
  return made;
}
at::Tensor shaped(const at::Tensor& a, const at::Tensor&, double) { return torch::empty_like(a); }
at::Tensor called(const at::Tensor& a, const at::Tensor& b, double c) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("shim_cxx_classes::multiplied", "")
                       .typed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>();
  return op.call(a, b, c);
}
struct Multiplied : torch::autograd::Function<Multiplied> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& a, const at::Tensor& b, double c) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->save_for_backward({a, b});
    return called(a, b, c);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    auto saved = ctx->get_saved_variables();
    return {ctx->needs_input_grad(0) ? grads[0] * saved[1] : at::Tensor(),
        ctx->needs_input_grad(1) ? grads[0] * saved[0] : at::Tensor(), at::Tensor()};
  }
};
at::Tensor recorded(const at::Tensor& a, const at::Tensor& b, double c) { return Multiplied::apply(a, b, c); }
std::string missing() {
  try {
    c10::Dispatcher::singleton().findSchemaOrThrow("shim_cxx_classes::nothing", "");
  } catch (const c10::Error& e) { return e.what_without_backtrace(); }
  return "found";
}

struct Stack : torch::CustomClassHolder {
  std::vector<std::string> items;
  explicit Stack(std::vector<std::string> all) : items(std::move(all)) {}
  void push(std::string s) { items.push_back(std::move(s)); }
  std::string pop() {
    TORCH_CHECK_INDEX(!items.empty(), "pop of an empty stack");
    auto last = items.back();
    items.pop_back();
    return last;
  }
  int64_t size() const { return int64_t(items.size()); }
  c10::intrusive_ptr<Stack> clone() const { return c10::make_intrusive<Stack>(items); }
  void merge(const c10::intrusive_ptr<Stack>& o) {
    for (auto& s : o->items) push(s);
  }
  std::tuple<at::Tensor, int64_t> lengths() const {
    std::vector<int64_t> all;
    for (auto& s : items) all.push_back(int64_t(s.size()));
    return {torch::tensor(all), size()};
  }
};
int64_t size_of(const c10::intrusive_ptr<Stack>& s) { return s->size(); }
c10::intrusive_ptr<Stack> made(int64_t n) {
  return c10::make_intrusive<Stack>(std::vector<std::string>(size_t(n), "x"));
}

}  // namespace

TORCH_LIBRARY(shim_cxx_classes, m) {
  m.def("multiplied(Tensor a, Tensor b, float c) -> Tensor", {at::Tag::pt2_compliant_tag});
  m.def("missing() -> str", &missing);
  m.class_<Stack>("Stack")
      .def(torch::init<std::vector<std::string>>())
      .def("push", &Stack::push)
      .def("pop", &Stack::pop)
      .def("size", &Stack::size)
      .def("clone", &Stack::clone)
      .def("merge", &Stack::merge)
      .def("lengths", &Stack::lengths)
      .def("top", [](const c10::intrusive_ptr<Stack>& self) { return self->items.back(); })
      .def("__len__", [](const c10::intrusive_ptr<Stack>& self) { return self->size(); })
      .def_static("two", [] { return made(2); })
      .def_property("first", [](const c10::intrusive_ptr<Stack>& self) { return self->items.front(); })
      .def_pickle([](const c10::intrusive_ptr<Stack>& self) -> std::vector<std::string> { return self->items; },
          [](std::vector<std::string> state) { return c10::make_intrusive<Stack>(std::move(state)); });
  m.def("size_of(__torch__.torch.classes.shim_cxx_classes.Stack s) -> int", &size_of);
  m.def("made", &made);
}
TORCH_LIBRARY_IMPL(shim_cxx_classes, CPU, m) { m.impl("multiplied", &multiplied); }
TORCH_LIBRARY_IMPL(shim_cxx_classes, Meta, m) { m.impl("multiplied", &shaped); }
TORCH_LIBRARY_IMPL(shim_cxx_classes, Autograd, m) { m.impl("multiplied", TORCH_FN(recorded)); }
