// Errors keep their kind both ways.
#include <torch/extension.h>

void check(int64_t which) {
  TORCH_CHECK(which != 0, "runtime ", which, " of ", at::kFloat)
  TORCH_CHECK_INDEX(which != 1, "index");
  TORCH_CHECK_VALUE(which != 2, "value");
  TORCH_CHECK_TYPE(which != 3, "type");
  TORCH_CHECK_NOT_IMPLEMENTED(which != 4, "not implemented");
  if (which == 5) throw std::invalid_argument("invalid");
  if (which == 6) throw std::runtime_error("plain");
  if (which == 7) AT_ERROR("at error ", 7);
  TORCH_CHECK_NE(which, 9) << "more";
  LOG_IF(WARNING, which == 10) << "told before";
  if (which > 9)
    CHECK(which < 10) << "and ends";
  else
    LOG(INFO) << "silent";
  if (which == 8) throw c10::AcceleratorError({__func__, __FILE__, uint32_t(__LINE__)}, 700, "of the device");
}
float* pointer(const at::Tensor& x) { return x.data_ptr<float>(); }
double first(const at::Tensor& x) { return x.accessor<float, 2>()[0][0]; }
at::Tensor matmul(const at::Tensor& a, const at::Tensor& b) { return a.matmul(b); }
int64_t size(const at::Tensor& x, int64_t d) { return x.size(d); }
std::string caught(const at::Tensor& a, const at::Tensor& b) {
  try {
    a.add(b);
  } catch (const c10::Error& e) { return "caught c10::Error"; } catch (const std::exception& e) {
    return "caught another";
  }
  return "no error";
}
void dispatch(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dispatch", [&] { x.data_ptr<scalar_t>(); });
}
void repeats(const std::string& what) { at::globalContext().alertNotDeterministic(what); }
at::Tensor call_back(py::function f, at::Tensor x) { return f(x).cast<at::Tensor>(); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("check", &check);
  m.def("pointer", [](const at::Tensor& x) { return pointer(x) != nullptr; });
  m.def("first", &first);
  m.def("matmul", &matmul);
  m.def("size", &size);
  m.def("caught", &caught);
  m.def("dispatch", &dispatch);
  m.def("repeats", &repeats);
  m.def("call_back", &call_back);
}
