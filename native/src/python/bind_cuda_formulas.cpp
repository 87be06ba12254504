// Operators that are one pointwise kernel on CUDA; elsewhere, and for what the kernels do not take, their bodies run.
#include <string_view>

#include "autograd/autograd.h"
#include "cuda/formulas.h"
#include "python/native_values.h"

namespace shim {
namespace {

struct PointwiseFormula {
  const char* name;
  int tensors, numbers;  // the arguments: operands, then numbers
};
constexpr PointwiseFormula kFormulas[] = {{"lerp", 3, 0}, {"log_sigmoid", 1, 0}, {"mish", 1, 0}, {"hardswish", 1, 0},
    {"hardsigmoid", 1, 0}, {"prelu", 2, 0}, {"copysign", 2, 0}, {"xlogy", 2, 0}, {"xlog1py", 2, 0}, {"logaddexp", 2, 0},
    {"logaddexp2", 2, 0}, {"asinh", 1, 0}, {"acosh", 1, 0}, {"atanh", 1, 0}, {"lgamma", 1, 0}, {"digamma", 1, 0},
    {"erfinv", 1, 0}, {"addcmul", 3, 1}, {"addcdiv", 3, 1}, {"leaky_relu", 1, 1}, {"elu", 1, 3}, {"softplus", 1, 2},
    {"threshold", 1, 2}, {"hardtanh", 1, 2}, {"hardshrink", 1, 1}, {"softshrink", 1, 1}, {"nan_to_num", 1, 3},
    {"sinc", 1, 0}, {"deg2rad", 1, 0}, {"rad2deg", 1, 0}, {"heaviside", 2, 0}, {"i0", 1, 0}, {"i1", 1, 0},
    {"i0e", 1, 0}, {"i1e", 1, 0}, {"bessel_j0", 1, 0}, {"bessel_j1", 1, 0}, {"bessel_y0", 1, 0}, {"bessel_y1", 1, 0},
    {"modified_bessel_i0", 1, 0}, {"modified_bessel_i1", 1, 0}, {"ndtr", 1, 0}, {"ndtri", 1, 0}, {"erfcx", 1, 0},
    {"zeta", 2, 0}, {"nextafter", 2, 0}, {"logit", 1, 1}, {"bce_each", 2, 0}, {"bce_logits_each", 2, 0},
    {"igamma", 2, 0}, {"igammac", 2, 0}};

template <bool InPlace> PyObject* native_formula(Operator& op, PyObject* const* args, size_t n) {
  const PointwiseFormula& f = *static_cast<const PointwiseFormula*>(op.native_data);
  if (int(n) != f.tensors + f.numbers || !is_tensor(args[0]) || !unwrap(args[0])->device().is_cuda()) return nullptr;
  return guarded([&]() -> PyObject* {
    Input inputs[3];
    double extra[3] = {};
    for (int k = 0; k < f.tensors; ++k) {
      if (is_tensor(args[k]))
        inputs[k].tensor = unwrap(args[k]);
      else if (!number_of(args[k], &inputs[k].number) || inputs[k].number.type == Number::Complex)
        return nullptr;
    }
    for (int k = 0; k < f.numbers; ++k) {
      Number number;
      if (args[f.tensors + k] == Py_None && std::string_view(f.name) == "logit") {
        extra[k] = -1;  // no bound
        continue;
      }
      if (!number_of(args[f.tensors + k], &number) || number.type == Number::Complex) return nullptr;
      extra[k] = number.to_double();
    }
    if (std::string_view(f.name) == "softshrink" && !(extra[0] >= 0)) return nullptr;  // the record refuses it
    const Tensor self(unwrap(args[0]));
    const Tensor r = cuda::formula(f.name, {inputs, size_t(f.tensors)}, extra, InPlace ? self : Tensor{});
    if (!r) return nullptr;
    return InPlace ? Py_NewRef(args[0]) : wrap(r);
  });
}

// polygamma(n, self)
PyObject* native_polygamma(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !PyLong_CheckExact(args[0]) || !is_tensor(args[1]) || !unwrap(args[1])->device().is_cuda())
    return nullptr;
  const long order = PyLong_AsLong(args[0]);
  if (order < 1 || order > 1000) return nullptr;
  return guarded([&]() -> PyObject* {
    Input inputs[1];
    inputs[0].tensor = unwrap(args[1]);
    const double extra[3] = {double(order)};
    return wrapped(cuda::formula("polygamma", inputs, extra, {}));
  });
}

// glu(self, dim): a composite, natively where no history is kept
PyObject* native_glu(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !unwrap(args[0])->device().is_cuda() || !PyLong_CheckExact(args[1]) ||
      (GradMode::enabled() && any_requires_grad(args, n)))
    return nullptr;
  const TensorImpl& self = *unwrap(args[0]);
  long dim = PyLong_AsLong(args[1]);
  if (dim < -self.dim() || dim >= self.dim()) return nullptr;
  if (dim < 0) dim += self.dim();
  const int64_t size = self.sizes()[size_t(dim)];
  if (size % 2) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor a = narrow(self, dim, 0, size / 2), b = narrow(self, dim, size / 2, size / 2);
    Input inputs[2];
    inputs[0].tensor = a.get();
    inputs[1].tensor = b.get();
    const double none[3] = {};
    return wrapped(cuda::formula("glu", inputs, none, {}));
  });
}

}  // namespace

void register_cuda_formulas() {
  register_native("glu", native_glu);
  register_native("polygamma", native_polygamma);
  for (const PointwiseFormula& f : kFormulas) {
    void* data = const_cast<PointwiseFormula*>(&f);
    register_native(f.name, native_formula<false>, data);
    register_native((std::string(f.name) + "_").c_str(), native_formula<true>, data);
  }
}

}  // namespace shim
