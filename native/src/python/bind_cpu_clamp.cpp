// CPU kernels of clamp by tensors and of masked fills and scales.
#include "autograd/autograd.h"
#include "core/sparse.h"
#include "cpu/formulas.h"
#include "python/native_cpu.h"

namespace shim {

namespace {

// clamp_min(x, least) and clamp_max(x, most) of tensors of one floating dtype
template <bool Least> PyObject* native_clamp_tensor(Operator&, PyObject* const* args, size_t n) {
  static const PointwiseFormula& f = *pointwise_formula(Least ? "clamp_least" : "clamp_most");
  if (n != 2 || !on_cpu(args[0]) || !on_cpu(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorOrScalar inputs[2] = {{unwrap(args[0]), {}}, {unwrap(args[1]), {}}};
    return computed(inputs[0].tensor->numel(), [&] { return run_formula(f, inputs); });
  });
}

// clamp(x, least, most) with tensors, of one floating dtype; either may be None.
PyObject* native_clamp_tensors(Operator&, PyObject* const* args, size_t n) {
  static const PointwiseFormula &least = *pointwise_formula("clamp_least"), &most = *pointwise_formula("clamp_most"),
                                &both = *pointwise_formula("clamp_between");
  if (n != 3 || !on_cpu(args[0]) || !on_cpu_or_none(args[1]) || !on_cpu_or_none(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorOrScalar inputs[3] = {{unwrap(args[0]), {}}};
    size_t count = 1;
    for (int k : {1, 2})
      if (args[k] != Py_None) inputs[count++].tensor = unwrap(args[k]);
    if (count == 1) return nullptr;
    const PointwiseFormula& f = count == 3 ? both : args[2] == Py_None ? least : most;
    return computed(inputs[0].tensor->numel(), [&] { return run_formula(f, {inputs, count}); });
  });
}

// x where a mask is false, elsewhere a number of x's kind. `out` is x itself or new.
Tensor filled(const TensorImpl& self, const TensorImpl& mask, Scalar value, Tensor out) {
  const DType t = self.dtype();
  if (self.has_math_bits()) return {};
  check_fits(value, t);
  const Dims shape = broadcast_shapes(self.sizes(), mask.sizes());
  if (out && !std::ranges::equal(out->sizes(), shape)) return {};
  const TensorImpl* like[] = {&self, &mask};
  if (!out) out = allocate_like(shape, like, 2, t);
  alignas(16) char number[16] = {};
  store_number(number, t, value);
  const Operand operands[4] = {Operand::of(*out), Operand::of(mask), Operand{number, t, {}, {}}, Operand::of(self)};
  return !out->numel() || select(shape, operands) ? out : Tensor{};
}

template <bool InPlace> PyObject* native_masked_fill(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 3 || !on_cpu(args[0]) || !on_cpu(args[1]) || is_tensor(args[2]) || unwrap(args[1])->dtype() != DType::b8)
    return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl &self = *unwrap(args[0]), &mask = *unwrap(args[1]);
    const bool floats = is_floating(self.dtype()) && self.itemsize() > 1;
    if (!number_of(args[2], &value) || value.type == Scalar::Complex || value.big) return nullptr;
    const bool truth = self.dtype() == DType::b8 && value.type == Scalar::Bool;
    if (!floats && !truth && (value.type == Scalar::Float || !is_integral(self.dtype(), false))) return nullptr;
    if (InPlace && clashes(self, mask)) return nullptr;
    PyObject* r =
        computed(self.numel(), [&] { return filled(self, mask, value, InPlace ? Tensor(unwrap(args[0])) : Tensor{}); });
    if (!InPlace || !r) return r;
    Py_DECREF(r);
    return Py_NewRef(args[0]);
  });
}

struct MaskedScale {
  template <class T> static T f(T x, T mask, T scale) { return mask != T(0) ? x * scale : T(0); }
};

// masked_scale(x, mask, scale)
PyObject* native_masked_scale(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cpu(args[0]) || !on_cpu(args[1]) || !PyFloat_Check(args[2])) return nullptr;
  if (is_sparse(*unwrap(args[0])) || is_sparse(*unwrap(args[1]))) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl &x = *unwrap(args[0]), &mask = *unwrap(args[1]);
    const DType compute = compute_dtype(x.dtype());
    if (!is_floating(x.dtype()) || x.itemsize() == 1 || !std::ranges::equal(x.sizes(), mask.sizes())) return nullptr;
    alignas(16) char scale[16] = {};
    store_number(scale, compute, Scalar{Scalar::Float, 0, PyFloat_AS_DOUBLE(args[2])});
    return computed(x.numel(), [&] {
      const TensorImpl* like[] = {&x};
      Tensor out = allocate_like(x.sizes(), like, 1, x.dtype());
      const Operand operands[4] = {
          Operand::of(*out), Operand::of(x), Operand::of(mask), Operand{scale, compute, {}, {}}};
      if (out->numel())
        run_blocks(x.sizes(), operands, 4, compute, compute,
            compute == DType::f64 ? formula_loop<MaskedScale, double, 3> : formula_loop<MaskedScale, float, 3>);
      return out;
    });
  });
}

}  // namespace

void register_cpu_clamp() {
  register_native_cpu("clamp_min_tensor", native_clamp_tensor<true>);
  register_native_cpu("clamp_max_tensor", native_clamp_tensor<false>);
  register_native_cpu("clamp_tensors", native_clamp_tensors);
  register_native_cpu("masked_fill", native_masked_fill<false>);
  register_native_cpu("masked_fill_", native_masked_fill<true>);
  register_native_cpu("masked_scale", native_masked_scale);
}

}  // namespace shim
