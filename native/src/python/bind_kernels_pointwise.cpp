// Native fast paths of pointwise operators: bound Python arguments in, a new reference out, null for "not mine".
#include <cstring>

#include "cpu/parallel.h"
#include "cpu/pointwise.h"
#include "python/native_values.h"

namespace shim {
namespace {

bool input_of(PyObject* o, TensorOrScalar* in) {
  if (is_tensor(o)) {
    in->tensor = unwrap(o);
    return true;
  }
  return number_of(o, &in->number);
}

// Runs without the GIL where that pays; not on CUDA, whose current stream is CuPy's and asked for with the GIL held.
template <class F> Tensor compute(const TensorOrScalar& a, const TensorOrScalar& b, F&& f) {
  if ((a.tensor && a.tensor->device().is_cuda()) || (b.tensor && b.tensor->device().is_cuda())) return f();
  const int64_t n = std::max(a.tensor ? a.tensor->numel() : 0, b.tensor ? b.tensor->numel() : 0);
  if (n < 2 * kGrain) return f();
  GilRelease released;
  return f();
}

PyObject* self_or_null(const Tensor& t, PyObject* self) { return t ? Py_NewRef(self) : nullptr; }

PyObject* native_unary(Operator& op, PyObject* const* args, size_t n) {
  if (n != 1 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar in{unwrap(args[0]), {}};
    Tensor self(unwrap(args[0]));
    return wrapped(compute(in, {}, [&] { return run_unary(*static_cast<const PointwiseOp*>(op.native_data), self); }));
  });
}

PyObject* native_unary_in_place(Operator& op, PyObject* const* args, size_t n) {
  if (n != 1 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    auto& kernel = *static_cast<const PointwiseOp*>(op.native_data);
    Tensor self(unwrap(args[0]));
    if (kernel.rule != Rule::arithmetic && !is_floating(self->dtype())) return nullptr;
    return self_or_null(compute({self.get(), {}}, {}, [&] { return run_unary(kernel, self, self); }), args[0]);
  });
}

PyObject* native_gelu(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !PyUnicode_Check(args[1])) return nullptr;
  const bool tanh = PyUnicode_CompareWithASCIIString(args[1], "tanh") == 0;
  if (!tanh && PyUnicode_CompareWithASCIIString(args[1], "none") != 0) return nullptr;
  return guarded([&]() -> PyObject* {
    static const PointwiseOp &exact = *unary_op("gelu"), &fast = *unary_op("gelu_tanh");
    Tensor self(unwrap(args[0]));
    return wrapped(compute({self.get(), {}}, {}, [&] { return run_unary(tanh ? fast : exact, self); }));
  });
}

// The operator's own checks come first: what PyTorch refuses is left to the body, which says why.
bool refused(const PointwiseOp& op, const TensorOrScalar& b) {
  return !std::strcmp(op.name, "pow") && !b.tensor && b.number.type != Scalar::Float &&
         b.number.type != Scalar::Complex && b.number.i < 0;
}

// Whether in-place results of this dtype may be written to self.
bool writes_to(const PointwiseOp& op, const TensorOrScalar& a, const TensorOrScalar& b) {
  if (op.rule == Rule::compare || op.rule == Rule::logical) return true;
  Promotion p;
  for (const TensorOrScalar* i : {&a, &b}) i->tensor ? p.add(*i->tensor) : p.add(i->number);
  DType t = p.result();
  if (op.rule == Rule::to_float && is_integral(t, true)) t = default_dtype();
  return can_cast(t, a.tensor->dtype());
}

const PointwiseOp* pick(Operator& op, PyObject* const* args, size_t n) {
  if (n == 2) return static_cast<const PointwiseOp*>(op.native_data);
  if (n != 3 || op.schema.name.rfind("div", 0) != 0) return nullptr;
  static const PointwiseOp &whole = *binary_op("floor_divide"), &cut = *binary_op("div_trunc");
  if (args[2] == Py_None) return static_cast<const PointwiseOp*>(op.native_data);
  if (!PyUnicode_Check(args[2])) return nullptr;
  if (PyUnicode_CompareWithASCIIString(args[2], "floor") == 0) return &whole;
  return PyUnicode_CompareWithASCIIString(args[2], "trunc") == 0 ? &cut : nullptr;
}

PyObject* native_binary(Operator& op, PyObject* const* args, size_t n) {
  const PointwiseOp* kernel = pick(op, args, n);
  if (!kernel) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar a, b;
    if (!input_of(args[0], &a) || !input_of(args[1], &b) || refused(*kernel, b)) return nullptr;
    return wrapped(compute(a, b, [&] { return run_binary(*kernel, a, b); }));
  });
}

PyObject* native_binary_in_place(Operator& op, PyObject* const* args, size_t n) {
  const PointwiseOp* kernel = pick(op, args, n);
  if (!kernel) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar a, b;
    if (!is_tensor(args[0]) || !input_of(args[0], &a) || !input_of(args[1], &b) || refused(*kernel, b) ||
        !writes_to(*kernel, a, b))
      return nullptr;
    Tensor self(unwrap(args[0]));
    return self_or_null(compute(a, b, [&] { return run_binary(*kernel, a, b, self); }), args[0]);
  });
}

bool boolean(const TensorOrScalar& in) {
  return in.tensor ? in.tensor->dtype() == DType::b8 : in.number.type == Scalar::Bool;
}

// Alphas and minuses of bool that PyTorch refuses are left to the record's rule, which knows the errors.
bool plain_sum(const TensorOrScalar& a, const TensorOrScalar& b, Scalar alpha, bool subtract) {
  if (subtract && (boolean(a) || boolean(b))) return false;
  if (alpha.type == Scalar::Int) return true;
  auto floats = [](const TensorOrScalar& in) {
    return in.tensor && (is_floating(in.tensor->dtype()) || is_complex(in.tensor->dtype()));
  };
  return alpha.type == Scalar::Float && (floats(a) || floats(b));
}

template <bool Subtract, bool InPlace> PyObject* native_add(Operator&, PyObject* const* args, size_t n) {
  if (n != 3) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar a, b;
    Scalar alpha;
    if (!input_of(args[0], &a) || !input_of(args[1], &b) || !number_of(args[2], &alpha) ||
        !plain_sum(a, b, alpha, Subtract))
      return nullptr;
    if (!InPlace) return wrapped(compute(a, b, [&] { return run_add(a, b, alpha, Subtract); }));
    static const PointwiseOp& plus = *binary_op("add");
    if (!a.tensor || !writes_to(plus, a, b)) return nullptr;
    Tensor self(unwrap(args[0]));
    return self_or_null(compute(a, b, [&] { return run_add(a, b, alpha, Subtract, self); }), args[0]);
  });
}

PyObject* native_where(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar a, b;
    if (!input_of(args[1], &a) || !input_of(args[2], &b)) return nullptr;
    Tensor condition(unwrap(args[0]));
    return wrapped(compute({condition.get(), {}}, a, [&] { return run_where(condition, a, b); }));
  });
}

// clamp(self, min, max), clamp_min(self, min), clamp_max(self, max) with numbers.
template <bool Least, bool Most> PyObject* native_clamp(Operator&, PyObject* const* args, size_t n) {
  if (n != 1 + Least + Most || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Scalar low, high;
    PyObject *least = Least ? args[1] : Py_None, *most = Most ? args[n - 1] : Py_None;
    if ((least != Py_None && !number_of(least, &low)) || (most != Py_None && !number_of(most, &high))) return nullptr;
    if (least == Py_None && most == Py_None) return nullptr;
    Tensor self(unwrap(args[0]));
    return wrapped(compute({self.get(), {}}, {},
        [&] { return run_clamp(self, least == Py_None ? nullptr : &low, most == Py_None ? nullptr : &high); }));
  });
}

}  // namespace

void register_pointwise() {
  register_native("where", native_where);
  register_native("clamp", native_clamp<true, true>);
  register_native("clamp_min", native_clamp<true, false>);
  register_native("clamp_max", native_clamp<false, true>);
  register_native("gelu", native_gelu);
  register_native("add", native_add<false, false>);
  register_native("add_", native_add<false, true>);
  register_native("sub", native_add<true, false>);
  register_native("sub_", native_add<true, true>);
  for (const PointwiseOp& op : unary_ops()) {  // those that no kernel of its own has
    if (has_native(op.name)) continue;
    void* data = const_cast<PointwiseOp*>(&op);
    register_native(op.name, native_unary, data);
    register_native((std::string(op.name) + "_").c_str(), native_unary_in_place, data);
  }
  for (const PointwiseOp& op : binary_ops()) {
    if (has_native(op.name)) continue;
    void* data = const_cast<PointwiseOp*>(&op);
    register_native(op.name, native_binary, data);
    register_native((std::string(op.name) + "_").c_str(), native_binary_in_place, data);
  }
  register_native("number_pow", native_binary, const_cast<PointwiseOp*>(binary_op("pow")));
  register_native("div_mode", native_binary, const_cast<PointwiseOp*>(binary_op("div")));
  register_native("div_mode_", native_binary_in_place, const_cast<PointwiseOp*>(binary_op("div")));
}

}  // namespace shim
