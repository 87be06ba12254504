// Operators whose native kernels are CUDA's alone; on a CPU their records' bodies run.
#include <algorithm>

#include "core/order.h"
#include "cpu/loops.h"
#include "cuda/channel_norm.h"
#include "cuda/gather.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/norm.h"
#include "cuda/nvrtc.h"
#include "cuda/random.h"
#include "cuda/rows.h"
#include "python/native_cuda.h"

namespace shim {

namespace {

// --- random numbers -----------------------------------------------------------------------------------------------------

// cuda_draw(tensor, kind, a, b, seed, start): fills it in place, or says False.
PyObject* draw(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || !on_cuda(args[0]) || !PyUnicode_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "cuda_draw(tensor, kind, a, b, seed, start)");
  static constexpr std::pair<const char*, cuda::Shaped> others[] = {{"exponential", cuda::Shaped::exponential},
      {"cauchy", cuda::Shaped::cauchy}, {"geometric", cuda::Shaped::geometric}, {"chance", cuda::Shaped::chance}};
  for (const auto& [name, shape] : others) {
    if (PyUnicode_CompareWithASCIIString(args[1], name) != 0) continue;
    const double a = PyFloat_AsDouble(args[2]), b = PyFloat_AsDouble(args[3]);
    const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[4]), start = PyLong_AsUnsignedLongLongMask(args[5]);
    if (PyErr_Occurred()) return nullptr;
    return guarded([&, which = shape]() -> PyObject* {
      const Tensor self(unwrap(args[0]));
      if (!cuda::draw_shaped(self, which, a, b, seed, start)) Py_RETURN_FALSE;
      self->bump_version();
      Py_RETURN_TRUE;
    });
  }
  const bool normal = PyUnicode_CompareWithASCIIString(args[1], "normal") == 0,
             integer = PyUnicode_CompareWithASCIIString(args[1], "integer") == 0;
  double a = 0, b = 0;
  uint64_t low = 0, high = 0;
  if (integer) {
    low = PyLong_AsUnsignedLongLongMask(args[2]);
    high = PyLong_AsUnsignedLongLongMask(args[3]);
  } else {
    a = PyFloat_AsDouble(args[2]);
    b = PyFloat_AsDouble(args[3]);
  }
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[4]), start = PyLong_AsUnsignedLongLongMask(args[5]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const cuda::Draw kind = integer ? cuda::Draw::integer : normal ? cuda::Draw::normal : cuda::Draw::uniform;
    if (!cuda::draw(self, kind, a, b, int64_t(low), high - low, seed, start)) Py_RETURN_FALSE;
    self->bump_version();
    Py_RETURN_TRUE;
  });
}

// cuda_track(running_mean, running_var, mean, variance, momentum, factor): running = (1 - momentum) running + momentum own, the variance
// times factor; or says False.
PyObject* track(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]))
    return PyErr_Format(PyExc_TypeError, "cuda_track takes four tensors and two numbers");
  const double momentum = PyFloat_AsDouble(args[4]), factor = PyFloat_AsDouble(args[5]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor to_mean(unwrap(args[0])), to_variance(unwrap(args[1]));
    if (!cuda::track(to_mean, to_variance, Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), momentum, factor))
      Py_RETURN_FALSE;
    to_mean->bump_version();
    to_variance->bump_version();
    Py_RETURN_TRUE;
  });
}

// cuda_poisson(rates, seed, start): counts at the rates, or None.
PyObject* draw_poisson(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !on_cuda(args[0]) || unwrap(args[0])->has_math_bits())
    return PyErr_Format(PyExc_TypeError, "cuda_poisson(rates, seed, start)");
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[1]), start = PyLong_AsUnsignedLongLongMask(args[2]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor out = cuda::draw_poisson(Tensor(unwrap(args[0])), seed, start);
    if (!out) Py_RETURN_NONE;
    return wrap(out);
  });
}

// dropout(input, p, seed, start) -> (values, mask)
PyObject* native_dropout(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0])) return nullptr;
  const double p = PyFloat_AsDouble(args[1]);
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[2]), start = PyLong_AsUnsignedLongLongMask(args[3]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    Dims order, back(size_t(self->dim()));  // the dims as they lie in memory: the results lie like the input
    for (int d = 0; d < self->dim(); ++d) order.push_back(d);
    sort_few(order.data(), order.data() + order.size(),
        [&](int64_t a, int64_t b) { return self->strides()[size_t(a)] > self->strides()[size_t(b)]; });
    for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
    const Tensor lying = self->is_contiguous() ? self : permute(*self, order);
    const bool dense = lying->is_contiguous();
    Tensor mask, out = cuda::dropout(dense ? lying : self, p, seed, start, &mask);
    if (!out) return nullptr;
    return dense && lying.get() != self.get() ? tuple_of({permute(*out, back), permute(*mask, back)})
                                              : tuple_of({out, mask});
  });
}

// --- pointwise ----------------------------------------------------------------------------------------------------------

bool plain_float(DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64; }

// Of two tensors of equal shape on one device, and a number or none; the result is like the first.
Tensor pointwise(
    const char* op, const Tensor& a, const Tensor& b, const double* number, const double* extra = nullptr) {
  const DType t = a->dtype(), compute = t == DType::f64 ? DType::f64 : DType::f32;
  if (!plain_float(t) || a->device() != b->device() || !std::ranges::equal(a->sizes(), b->sizes())) return {};
  const TensorImpl* inputs[] = {a.get(), b.get()};
  Tensor out = allocate_like(a->sizes(), inputs, 2, t, a->device());
  alignas(16) char value[16] = {};
  if (number) store_number(value, compute, Scalar{Scalar::Float, 0, *number});
  cuda::Elementwise e{op, compute, compute, number ? 4 : 3, {Operand::of(*out), Operand::of(*a), Operand::of(*b)}};
  if (number) {
    e.operands[3].data = value;
    e.operands[3].dtype = compute;
    e.numbers[3] = true;
  }
  if (extra) std::copy(extra, extra + 3, e.extra);
  return cuda::run_elementwise(e, a->sizes(), a->device().index) ? out : Tensor{};
}

// masked_scale(self, mask, scale)
PyObject* native_masked_scale(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0]) || !on_cuda(args[1]) || !PyFloat_Check(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    const double scale = PyFloat_AS_DOUBLE(args[2]);
    return wrapped(pointwise("masked_scale", Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), &scale));
  });
}

// pointwise_backward(g, saved, name, p, q, r)
PyObject* native_pointwise_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !PyUnicode_Check(args[2])) return nullptr;
  const std::string_view name = PyUnicode_AsUTF8(args[2]);
  const cuda::Functor* functor = name.ends_with("_backward") ? cuda::functor_of(name) : nullptr;
  if (!functor) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0])), saved(unwrap(args[1]));
    if (g->dtype() != saved->dtype()) return nullptr;
    double extra[3] = {};
    for (int k = 0; k < 3; ++k) {
      Scalar number;
      if (!number_of(args[3 + k], &number) || number.type == Scalar::Complex) return nullptr;
      extra[k] = number.to_double();
    }
    return wrapped(pointwise(functor->op, g, saved, nullptr, extra));
  });
}

// masked_fill(self, mask, number), where the number is of self's kind
template <bool InPlace> PyObject* native_masked_fill(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0]) || !on_cuda(args[1]) || unwrap(args[1])->dtype() != DType::b8) return nullptr;
  return guarded([&]() -> PyObject* {
    Scalar value;
    Tensor self(unwrap(args[0])), mask(unwrap(args[1]));
    const DType t = self->dtype();
    if (!number_of(args[2], &value) || value.type == Scalar::Complex || value.big || mask->device() != self->device())
      return nullptr;
    if (!plain_float(t) && (value.type == Scalar::Float || !is_integral(t, false) || t == DType::u64)) return nullptr;
    check_fits(value, t);
    const DType compute = t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
    const Dims shape = broadcast_shapes(self->sizes(), mask->sizes());
    if (InPlace && !std::ranges::equal(shape, self->sizes())) return nullptr;
    const Tensor out = InPlace ? self : empty(shape, t, self->device());
    alignas(16) char number[16] = {};
    store_number(number, compute, value);
    cuda::Elementwise e{"where", compute, compute, 4,
        {Operand::of(*out), Operand::of(*mask), Operand{number, compute, {}, {}}, Operand::of(*self)}};
    e.numbers[2] = true;
    if (!cuda::run_elementwise(e, out->sizes(), self->device().index)) return nullptr;
    return InPlace ? Py_NewRef(args[0]) : wrap(out);
  });
}

// isclose(self, other, rtol, atol, equal_nan), of floats
PyObject* native_is_close(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cuda(args[0]) || !on_cuda(args[1]) || !PyFloat_Check(args[2]) || !PyFloat_Check(args[3]))
    return nullptr;
  const double relative = PyFloat_AS_DOUBLE(args[2]), absolute = PyFloat_AS_DOUBLE(args[3]);
  if (!(relative >= 0) || !(absolute >= 0)) return nullptr;
  const Tensor a(unwrap(args[0])), b(unwrap(args[1]));
  const DType t = a->dtype();
  if (!plain_float(t) || b->dtype() != t || a->device() != b->device() || a->has_math_bits() || b->has_math_bits())
    return nullptr;
  return guarded([&]() -> PyObject* {
    const DType compute = t == DType::f64 ? DType::f64 : DType::f32;
    const Tensor out = empty(broadcast_shapes(a->sizes(), b->sizes()), DType::b8, a->device());
    const Tensor first = expand(*a, out->sizes()), second = expand(*b, out->sizes());
    cuda::Elementwise e{
        "is_close", compute, DType::b8, 3, {Operand::of(*out), Operand::of(*first), Operand::of(*second)}};
    e.extra[0] = absolute;
    e.extra[1] = relative;
    e.extra[2] = args[4] == Py_True;
    return cuda::run_elementwise(e, out->sizes(), a->device().index) ? wrap(out) : nullptr;
  });
}

// cuda_compile_kernels(path of libnvrtc, family, [macro, ...], architecture) -> the compiler's log, "" when it compiled
PyObject* compile_kernels(PyObject*, PyObject* args) {
  const char *path, *family;
  PyObject* list;
  int architecture;
  if (!PyArg_ParseTuple(args, "ssO!i", &path, &family, &PyList_Type, &list, &architecture)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::string> macros;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
      if (!text) return nullptr;
      macros.emplace_back(text);
    }
    std::string wrong = *path ? nvrtc::use_library(path) : "";
    if (wrong.empty()) wrong = cuda::compile_family(family, std::move(macros), architecture);
    return PyUnicode_FromString(wrong.c_str());
  });
}

PyMethodDef cuda_kernels_functions[] = {{"cuda_compile_kernels", compile_kernels, METH_VARARGS,
                                            "Compiles kernels without loading them; the compiler's log."},
    {"cuda_draw", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(draw)), METH_FASTCALL, nullptr},
    {"cuda_poisson", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(draw_poisson)), METH_FASTCALL,
        "Counts of Poisson's distribution at a CUDA tensor's rates."},
    {"cuda_track", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(track)), METH_FASTCALL,
        "Moves running statistics of channels toward a batch's."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void register_cuda_kernels() {
  register_native("cuda_dropout", native_dropout);
  register_native("masked_scale", native_masked_scale);
  register_native("pointwise_backward", native_pointwise_backward);
  register_native("isclose", native_is_close);
  register_native("masked_fill", native_masked_fill<false>);
  register_native("masked_fill_", native_masked_fill<true>);
}

int bind_cuda_kernels(PyObject* module) { return PyModule_AddFunctions(module, cuda_kernels_functions); }

}  // namespace shim
