// CPU kernels of operators that are one pointwise formula; what they do not take is left to other natives and the records' bodies.
#include <cmath>
#include <string_view>

#include "autograd/autograd.h"
#include "core/sparse.h"
#include "cpu/formulas.h"
#include "cpu/special_functions.h"
#include "autograd/piecewise_constant.h"
#include "python/native_cpu.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

bool real_number(PyObject* o, TensorOrScalar* in) {
  return number_of(o, &in->number) && in->number.type != Scalar::Complex;
}

template <bool InPlace> PyObject* native_formula(Operator& op, PyObject* const* args, size_t n) {
  const auto& f = *static_cast<const PointwiseFormula*>(op.native_cpu_data);
  if (int(n) != f.tensors + f.numbers || !on_cpu(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar inputs[kMaxOperands];
    for (int k = 0; k < int(n); ++k) {
      if (k < f.tensors && is_tensor(args[k]))
        inputs[k].tensor = unwrap(args[k]);
      else if (!real_number(args[k], &inputs[k]))
        return nullptr;
    }
    if (std::string_view(f.name) == "softshrink" && !(inputs[1].number.to_double() >= 0))
      return nullptr;  // the record refuses it
    const Tensor self(unwrap(args[0]));
    PyObject* r = computed(self->numel(), [&] { return run_formula(f, {inputs, n}, InPlace ? self : Tensor{}); });
    if (!InPlace || !r) return r;
    Py_DECREF(r);
    return Py_NewRef(args[0]);
  });
}

// Of float32 and float64 alone: what others get is the records' to say.
template <bool InPlace> PyObject* native_special(Operator& op, PyObject* const* args, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (!is_tensor(args[i])) return nullptr;
    const DType t = unwrap(args[i])->dtype();
    if ((t != DType::f32 && t != DType::f64) || t != unwrap(args[0])->dtype()) return nullptr;
  }
  return native_formula<InPlace>(op, args, n);
}

// polygamma(n, x)
PyObject* native_polygamma(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !PyLong_CheckExact(args[0]) || !on_cpu(args[1])) return nullptr;
  const long long order = PyLong_AsLongLong(args[0]);
  return guarded([&]() -> PyObject* {
    return computed(unwrap(args[1])->numel(), [&] { return polygamma(order, *unwrap(args[1])); });
  });
}

// pointwise_backward(g, saved, name, p, q, r): of those without numbers
PyObject* native_slope(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cpu(args[0]) || !on_cpu(args[1]) || !PyUnicode_Check(args[2])) return nullptr;
  const char* name = PyUnicode_AsUTF8(args[2]);
  const PointwiseFormula* f = name ? pointwise_formula(name) : nullptr;
  if (!f || f->tensors != 2 || f->numbers) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorOrScalar inputs[2] = {{unwrap(args[0]), {}}, {unwrap(args[1]), {}}};
    return computed(inputs[0].tensor->numel(), [&] { return run_formula(*f, inputs); });
  });
}

// The kernel of x ** exponent where it is simpler than powers in general.
Tensor simple_power(const Tensor& x, double exponent, const Tensor& out) {
  static const PointwiseFormula &cube = *pointwise_formula("cube"),
                                &inverse_square = *pointwise_formula("inverse_square"),
                                &itself = *pointwise_formula("itself");
  static const PointwiseOp &square = *unary_op("square"), &root = *unary_op("sqrt"), &inverse_root = *unary_op("rsqrt"),
                           &inverse = *unary_op("reciprocal");
  const TensorOrScalar inputs[1] = {{x.get(), {}}};
  if (exponent == 2) return run_unary(square, x, out);
  if (exponent == 0.5) return run_unary(root, x, out);
  if (exponent == -0.5) return run_unary(inverse_root, x, out);
  if (exponent == -1) return run_unary(inverse, x, out);
  const PointwiseFormula* f = exponent == 3    ? &cube
                              : exponent == -2 ? &inverse_square
                              : exponent == 1  ? &itself
                                               : nullptr;
  return f ? run_formula(*f, inputs, out) : Tensor{};
}

template <bool InPlace> PyObject* native_power(Operator&, PyObject* const* args, size_t n) {  // (x, number)
  Scalar exponent;
  if (n != 2 || !on_cpu(args[0]) || is_tensor(args[1]) || !is_floating(unwrap(args[0])->dtype()) ||
      unwrap(args[0])->itemsize() == 1)
    return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[1], &exponent) || exponent.type == Scalar::Complex || exponent.type == Scalar::Bool)
      return nullptr;
    const Tensor self(unwrap(args[0]));
    PyObject* r =
        computed(self->numel(), [&] { return simple_power(self, exponent.to_double(), InPlace ? self : Tensor{}); });
    if (!InPlace || !r) return r;
    Py_DECREF(r);
    return Py_NewRef(args[0]);
  });
}

template <bool InPlace>
PyObject* with_numbers(const PointwiseFormula& f, PyObject* x, std::initializer_list<double> numbers) {
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(x));
    TensorOrScalar inputs[kMaxOperands] = {{self.get(), {}}};
    size_t count = 1;
    for (double number : numbers) inputs[count++].number = Scalar{Scalar::Float, 0, number};
    PyObject* r = computed(self->numel(), [&] { return run_formula(f, {inputs, count}, InPlace ? self : Tensor{}); });
    if (!InPlace || !r) return r;
    Py_DECREF(r);
    return Py_NewRef(x);
  });
}

// logit(x, eps or None)
template <bool InPlace> PyObject* native_logit(Operator&, PyObject* const* args, size_t n) {
  static const PointwiseFormula& logit = *pointwise_formula("logit_of");
  if (n != 2 || !on_cpu(args[0]) || !(args[1] == Py_None || PyFloat_Check(args[1]))) return nullptr;
  const DType t = unwrap(args[0])->dtype();
  if (!is_floating(t)) return nullptr;
  const auto rounded = [&](double v) {  // the ends are of x's own precision
    alignas(16) char element[16];
    store_number(element, t, Scalar{Scalar::Float, 0, v});
    return load_as_double(element, t);
  };
  const double least = args[1] == Py_None ? -1 : PyFloat_AS_DOUBLE(args[1]);
  return with_numbers<InPlace>(logit, args[0], {rounded(least), rounded(1 - least)});
}

// round(x, decimals=digits)
template <bool InPlace> PyObject* native_round_to(Operator&, PyObject* const* args, size_t n) {
  static const PointwiseFormula& round_to = *pointwise_formula("round_to");
  if (n != 2 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  const long digits = PyLong_AsLong(args[1]);
  if (std::labs(digits) > 30) return nullptr;
  const double power = std::pow(10.0, double(std::labs(digits)));
  return with_numbers<InPlace>(round_to, args[0], {digits < 0 ? 0.0 : power, digits < 0 ? power : 0.0});
}

// polar(length, angle) of one shape
PyObject* native_polar(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || !on_cpu(args[1])) return nullptr;
  const Tensor length(unwrap(args[0])), angle(unwrap(args[1]));
  const DType t = length->dtype();
  if (angle->dtype() != t || (t != DType::f32 && t != DType::f64) ||
      !std::ranges::equal(length->sizes(), angle->sizes()) || !length->is_contiguous() || !angle->is_contiguous() ||
      !is_plain(length) || !is_plain(angle))
    return nullptr;
  return guarded([&] {
    static const PointwiseOp &cosine = *unary_op("cos"), &sine = *unary_op("sin"), &times = *binary_op("mul");
    const Tensor out = empty(length->sizes(), t == DType::f32 ? DType::c64 : DType::c128, Device{});
    unlocked(length->numel(), [&] {
      const Tensor parts = view_as_real(*out);
      run_binary(times, {length.get(), {}}, {run_unary(cosine, angle).get(), {}}, select(*parts, -1, 0));
      run_binary(times, {length.get(), {}}, {run_unary(sine, angle).get(), {}}, select(*parts, -1, 1));
      return 0;
    });
    return wrap(out);
  });
}

// one_pass(g, saved): whether a gradient may be one kernel: of equal real floating dtypes and shapes, with values of their own,
// and neither differentiated nor seen by a handler.
PyObject* py_one_pass(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || GradMode::enabled() || forward_gradients() || (python_dispatch && dispatch_mode_active()))
    Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(args[i])) Py_RETURN_FALSE;
    const TensorImpl &t = *unwrap(args[i]), &first = *unwrap(args[0]);
    if (!(t.device().is_cpu() || t.device().is_cuda()) || !is_floating(t.dtype()) || t.itemsize() == 1 ||
        t.dtype() != first.dtype())
      Py_RETURN_FALSE;
    if (!std::ranges::equal(t.sizes(), first.sizes()) || !is_plain(Tensor(unwrap(args[i])))) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

// unseen(tensor, ...): whether these are CPU tensors with values of their own that no handler, mode or tangent goes with.
PyObject* py_unseen(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (forward_gradients() || (python_dispatch && dispatch_mode_active())) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!on_cpu(args[i]) || !is_plain(Tensor(unwrap(args[i])))) Py_RETURN_FALSE;
  Py_RETURN_TRUE;
}

// unseen_on_cuda(tensor): the same of a CUDA tensor
PyObject* py_unseen_on_cuda(PyObject*, PyObject* o) {
  if (!is_tensor(o) || !unwrap(o)->device().is_cuda() || forward_gradients() ||
      (python_dispatch && dispatch_mode_active()))
    Py_RETURN_FALSE;
  return PyBool_FromLong(is_plain(Tensor(unwrap(o))));
}

// flat_input(tensor): what stands for it in a formula of several operators whose slope is constant in pieces (flat.h).
PyObject* py_flat_input(PyObject*, PyObject* o) {
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "flat_input(): a tensor is needed");
  const Tensor t(unwrap(o));
  if (!GradMode::enabled() || !t->requires_grad() || forward_gradients() ||
      (python_dispatch && dispatch_mode_active()) || !is_plain(t) || is_sparse(*t))
    return Py_NewRef(o);
  return wrap(flat_input(t));
}

PyMethodDef cpu_formulas_functions[] = {
    {"flat_input", py_flat_input, METH_O, "The tensor; its gradient's own gradient by it is zeros, not absent."},
    {"unseen", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_unseen)), METH_FASTCALL,
        "Whether CPU tensors have values of their own, and no handler, mode or tangent sees what is done with them."},
    {"unseen_on_cuda", py_unseen_on_cuda, METH_O,
        "Whether a CUDA tensor has values of its own, and no handler, mode or tangent sees what is done with it."},
    {"one_pass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_one_pass)), METH_FASTCALL,
        "Whether a gradient of tensors alike may be one kernel, for nobody looks on."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cpu_formulas(PyObject* module) { return PyModule_AddFunctions(module, cpu_formulas_functions); }

void register_cpu_formulas() {
  for (auto part : {plain_formulas(), curved_formulas()})
    for (const PointwiseFormula& f : part) {
      void* data = const_cast<PointwiseFormula*>(&f);
      register_native_cpu(f.name, native_formula<false>, data);
      register_native_cpu((std::string(f.name) + "_").c_str(), native_formula<true>, data);
    }
  for (const PointwiseFormula& f : special_formulas()) {
    void* data = const_cast<PointwiseFormula*>(&f);
    register_native_cpu(f.name, native_special<false>, data);
    register_native_cpu((std::string(f.name) + "_").c_str(), native_special<true>, data);
  }
  register_native_cpu("polygamma", native_polygamma);
  register_native_cpu("pointwise_backward", native_slope);
  register_native_cpu("pow", native_power<false>);
  register_native_cpu("pow_", native_power<true>);
  register_native_cpu("logit", native_logit<false>);
  register_native_cpu("logit_", native_logit<true>);
  register_native_cpu("round_decimals", native_round_to<false>);
  register_native_cpu("round_decimals_", native_round_to<true>);
  register_native_cpu("polar", native_polar);
}

}  // namespace shim
