// Operators that are one pointwise kernel on CUDA; elsewhere, and for what the kernels do not take, their bodies run.
#include <string_view>

#include "autograd/autograd.h"
#include "cuda/elementwise.h"
#include "cuda/formulas.h"
#include "python/native_values.h"

namespace shim {
namespace {

template <bool InPlace> PyObject* native_formula(Operator& op, PyObject* const* args, size_t n) {
  const cuda::Functor& f = *static_cast<const cuda::Functor*>(op.native_data);
  const int numbers = int(n) - f.inputs;  // the arguments: operands, then numbers
  if (numbers < 0 || numbers > (f.extra ? 3 : 0) || !is_tensor(args[0]) || !unwrap(args[0])->device().is_cuda())
    return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar inputs[3];
    double extra[3] = {};
    for (int k = 0; k < f.inputs; ++k) {
      if (is_tensor(args[k]))
        inputs[k].tensor = unwrap(args[k]);
      else if (!number_of(args[k], &inputs[k].number) || inputs[k].number.type == Scalar::Complex)
        return nullptr;
    }
    for (int k = 0; k < numbers; ++k) {
      Scalar number;
      if (args[f.inputs + k] == Py_None && std::string_view(f.op) == "logit") {
        extra[k] = -1;  // no bound
        continue;
      }
      if (!number_of(args[f.inputs + k], &number) || number.type == Scalar::Complex) return nullptr;
      extra[k] = number.to_double();
    }
    if (std::string_view(f.op) == "softshrink" && !(extra[0] >= 0)) return nullptr;  // the record refuses it
    const Tensor self(unwrap(args[0]));
    const Tensor r = cuda::formula(f.op, {inputs, size_t(f.inputs)}, extra, InPlace ? self : Tensor{});
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
    TensorOrScalar inputs[1];
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
    TensorOrScalar inputs[2];
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
  for (const cuda::Functor* f : cuda::all_functors()) {  // those that no kernel of its own has
    const std::string in_place = std::string(f->op) + "_";
    if (has_native(f->op) || has_native(in_place.c_str())) continue;
    void* data = const_cast<cuda::Functor*>(f);
    register_native(f->op, native_formula<false>, data);
    register_native(in_place.c_str(), native_formula<true>, data);
  }
}

}  // namespace shim
