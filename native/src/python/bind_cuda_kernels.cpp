// Operators whose native kernels are CUDA's alone; on a CPU their records' bodies run.
#include <algorithm>

#include "cpu/loops.h"
#include "core/order.h"
#include "cuda/channel_norm.h"
#include "cuda/elementwise.h"
#include "cuda/gather.h"
#include "cuda/launch.h"
#include "cuda/norm.h"
#include "cuda/nvrtc.h"
#include "cuda/random.h"
#include "cuda/rows.h"
#include "cuda/sort.h"
#include "python/int_function.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

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

// --- scattering ---------------------------------------------------------------------------------------------------------

// (self, dim, index, src)
template <bool Adds, bool InPlace> PyObject* native_scatter(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]))
    return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  if (unwrap(args[3])->dim() != unwrap(args[2])->dim()) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    return cuda::scatter(out, dim, Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), Adds);
  });
}

// (self, dim, index, value)
template <bool InPlace> PyObject* native_scatter_value(Operator&, PyObject* const* args, size_t n) {
  Number value;
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2])) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    if (!number_of(args[3], &value)) return false;
    Tensor one = empty({}, out->dtype(), out->device());
    fill_(one, value);
    return cuda::scatter(out, dim, Tensor(unwrap(args[2])), one, false);
  });
}

// index_add(self, dim, index, source, alpha)
template <bool InPlace> PyObject* native_index_add(Operator&, PyObject* const* args, size_t n) {
  Number alpha;
  if (n != 5 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]))
    return nullptr;
  if (!number_of(args[4], &alpha) || alpha.type == Number::Complex || alpha.to_double() != 1) return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]), &source = *unwrap(args[3]);
  long dim = PyLong_AsLong(args[1]);
  if (dim < 0) dim += self.dim();
  if (dim < 0 || dim >= self.dim() || index.dim() > 1 || source.dim() != self.dim() ||
      source.sizes()[size_t(dim)] != index.numel())
    return nullptr;
  for (int i = 0; i < self.dim(); ++i)
    if (i != dim && source.sizes()[size_t(i)] != self.sizes()[size_t(i)]) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    Dims shape(size_t(self.dim()), 1);
    shape[size_t(dim)] = index.numel();
    Tensor places = expand(*view(*contiguous(Tensor(unwrap(args[2]))), shape), source.sizes());
    return cuda::scatter(out, dim, places, Tensor(unwrap(args[3])), true);
  });
}

// add_runs(self, keys, order, values, skip): a copy of self with rows added
PyObject* native_add_runs(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cuda(args[0]) || !is_tensor(args[1]) || !is_tensor(args[2]) || !is_tensor(args[3]) ||
      !PyLong_Check(args[4]))
    return nullptr;
  const long long skip = PyLong_AsLongLong(args[4]);
  return changed<false>(args[0], [&](const Tensor& out) {
    return cuda::add_runs(out, Tensor(unwrap(args[1])), Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), skip);
  });
}

// _index_put_at(self, [tensor, ...], values, accumulate): over the leading dims
template <bool InPlace> PyObject* native_index_put(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !PyList_Check(args[1]) || !on_cuda(args[2])) return nullptr;
  const bool adds = args[3] == Py_True;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    std::vector<Tensor> indices;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); ++i) {
      PyObject* item = PyList_GET_ITEM(args[1], i);
      if (!on_cuda(item)) return false;
      indices.emplace_back(unwrap(item));
    }
    const Tensor values(unwrap(args[2]));
    if (indices.empty() || !out->is_contiguous() || indices.size() > size_t(out->dim()) ||
        values->dtype() != out->dtype())
      return false;
    const DimSpan sizes = out->sizes();
    for (Tensor& t : indices)
      if (t->dtype() == DType::i32) t = to_dtype(t, DType::i64);
    Tensor keys =
        indices.size() == 1 && !adds ? indices[0] : cuda::flat_keys(indices, sizes.subspan(0, indices.size()));
    if (!keys) return false;
    Dims rows{1}, shape(keys->sizes().begin(), keys->sizes().end());
    for (size_t i = 0; i < indices.size(); ++i) rows[0] *= sizes[i];
    for (size_t i = indices.size(); i < sizes.size(); ++i) rows.push_back(sizes[i]), shape.push_back(sizes[i]);
    if (!adds) return cuda::put_rows(view(*out, rows), keys, values->numel() == 1 ? values : expand(*values, shape));
    Tensor sorted;  // equal places are added up in order: the same sums in every run
    const Tensor order = keys->numel() ? cuda::sort(view(*keys, Dims{keys->numel()}), 0, false, &sorted) : keys;
    return order && (!keys->numel() || cuda::add_runs(view(*out, rows), sorted, order, expand(*values, shape), -1));
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
  if (number) store_number(value, compute, Number{Number::Float, 0, *number});
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
  for (const char* name : {"silu_backward", "gelu_backward", "gelu_tanh_backward", "sigmoid_backward", "tanh_backward",
           "relu_backward", "mish_backward", "hardswish_backward", "hardsigmoid_backward", "log_sigmoid_backward",
           "leaky_relu_backward", "elu_backward", "softplus_backward", "hardtanh_backward"}) {
    if (PyUnicode_CompareWithASCIIString(args[2], name) != 0) continue;
    return guarded([&]() -> PyObject* {
      Tensor g(unwrap(args[0])), saved(unwrap(args[1]));
      if (g->dtype() != saved->dtype()) return nullptr;
      double extra[3] = {};
      for (int k = 0; k < 3; ++k) {
        Number number;
        if (!number_of(args[3 + k], &number) || number.type == Number::Complex) return nullptr;
        extra[k] = number.to_double();
      }
      return wrapped(pointwise(name, g, saved, nullptr, extra));
    });
  }
  return nullptr;
}

// masked_fill(self, mask, number), where the number is of self's kind
template <bool InPlace> PyObject* native_masked_fill(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0]) || !on_cuda(args[1]) || unwrap(args[1])->dtype() != DType::b8) return nullptr;
  return guarded([&]() -> PyObject* {
    Number value;
    Tensor self(unwrap(args[0])), mask(unwrap(args[1]));
    const DType t = self->dtype();
    if (!number_of(args[2], &value) || value.type == Number::Complex || value.big || mask->device() != self->device())
      return nullptr;
    if (!plain_float(t) && (value.type == Number::Float || !is_integral(t, false) || t == DType::u64)) return nullptr;
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

// --- along a dimension --------------------------------------------------------------------------------------------------

// softmax_backward(g, result, dim, log): the last dimension
PyObject* native_softmax_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !on_cuda(args[1]) || !PyLong_CheckExact(args[2])) return nullptr;
  const long dim = PyLong_AsLong(args[2]);
  const int dims = unwrap(args[1])->dim();
  if (dim != -1 && dim != dims - 1) return nullptr;
  return guarded([&] {
    return wrapped(cuda::softmax_backward(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), args[3] == Py_True));
  });
}

template <bool Upper> PyObject* native_triangle(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  const long long diagonal = PyLong_AsLongLong(args[1]);
  return guarded([&] { return wrapped(cuda::triangle(Tensor(unwrap(args[0])), diagonal, Upper)); });
}

// cross_entropy(self, target, weight, reduction, ignore_index, keep) -> (loss, log_p, factors, total)
PyObject* native_cross_entropy(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda_or_none(args[2]) || !PyLong_Check(args[3]) ||
      !PyLong_Check(args[4]))
    return nullptr;
  const long reduction = PyLong_AsLong(args[3]);
  const long long ignored = PyLong_AsLongLong(args[4]);
  return guarded([&]() -> PyObject* {
    cuda::CrossEntropy parts;
    Tensor loss = cuda::cross_entropy(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), tensor_or_none(args[2]),
        int(reduction), ignored, args[5] == Py_True, &parts);
    if (!loss) return nullptr;
    PyObject *a = wrap(loss), *b = wrap(parts.log_p), *c = wrap(parts.factors), *d = wrap(parts.total);
    return a && b && c && d ? Py_BuildValue("(NNNN)", a, b, c, d) : nullptr;
  });
}

// cross_entropy_backward(g, log_p, target, factors, total, reduction)
PyObject* native_cross_entropy_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !PyLong_Check(args[5])) return nullptr;
  for (int i = 0; i < 5; ++i)
    if (!on_cuda(args[i])) return nullptr;
  const long reduction = PyLong_AsLong(args[5]);
  return guarded([&]() -> PyObject* {
    const cuda::CrossEntropy parts{Tensor(unwrap(args[1])), Tensor(unwrap(args[3])), Tensor(unwrap(args[4]))};
    return wrapped(cuda::cross_entropy_backward(
        contiguous(Tensor(unwrap(args[0]))), Tensor(unwrap(args[2])), parts, int(reduction)));
  });
}

// --- norms --------------------------------------------------------------------------------------------------------------

// The numbers (cols, span, groups, centred) that end the arguments before the last.
bool norm_of(PyObject* const* args, PyObject* x, PyObject* weight, PyObject* bias, cuda::Norm* norm) {
  if (!on_cuda(x) || !on_cuda_or_none(weight) || !on_cuda_or_none(bias)) return false;
  *norm = {Tensor(unwrap(x)), tensor_or_none(weight), tensor_or_none(bias), PyLong_AsLongLong(args[0]),
      PyLong_AsLongLong(args[1]), PyLong_AsLongLong(args[2]), args[3] == Py_True};
  return !PyErr_Occurred();
}

// norm(input, weight, bias, cols, span, groups, centred, eps) -> (output, mean, rstd)
PyObject* native_norm(Operator&, PyObject* const* args, size_t n) {
  cuda::Norm norm;
  Number eps;
  if (n != 8 || !norm_of(args + 3, args[0], args[1], args[2], &norm)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[7], &eps)) return nullptr;
    Tensor mean, rstd, out = cuda::norm(norm, eps.to_double(), &mean, &rstd);
    if (!out) return nullptr;
    return tuple_of({out, mean ? mean : rstd, rstd});
  });
}

// norm_backward(g, input, weight, mean, rstd, cols, span, groups, centred, of_weight, of_bias) -> (dx, dweight, dbias), what is not
// asked for being an empty tensor
PyObject* native_norm_backward(Operator&, PyObject* const* args, size_t n) {
  cuda::Norm norm;
  if (n != 11 || !on_cuda(args[0]) || !on_cuda(args[3]) || !on_cuda(args[4]) ||
      !norm_of(args + 5, args[1], args[2], Py_None, &norm))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor weight, bias;
    Tensor r = cuda::norm_backward(norm, contiguous(Tensor(unwrap(args[0]))), Tensor(unwrap(args[3])),
        Tensor(unwrap(args[4])), args[9] == Py_True ? &weight : nullptr, args[10] == Py_True ? &bias : nullptr);
    if (!r) return nullptr;
    for (Tensor* t : {&weight, &bias})
      if (!*t) *t = empty(Dims{0}, r->dtype(), r->device());
    return tuple_of({r, weight, bias});
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
  register_native("scatter_add", native_scatter<true, false>);
  register_native("scatter_add_", native_scatter<true, true>);
  register_native("scatter_src", native_scatter<false, false>);
  register_native("scatter_src_", native_scatter<false, true>);
  register_native("scatter_value", native_scatter_value<false>);
  register_native("scatter_value_", native_scatter_value<true>);
  register_native("index_add", native_index_add<false>);
  register_native("index_add_", native_index_add<true>);
  register_native("add_runs", native_add_runs);
  register_native("masked_scale", native_masked_scale);
  register_native("pointwise_backward", native_pointwise_backward);
  register_native("isclose", native_is_close);
  register_native("masked_fill", native_masked_fill<false>);
  register_native("masked_fill_", native_masked_fill<true>);
  register_native("softmax_backward", native_softmax_backward);
  register_native("tril", native_triangle<false>);
  register_native("triu", native_triangle<true>);
  register_native("cross_entropy", native_cross_entropy);
  register_native("cross_entropy_backward", native_cross_entropy_backward);
  register_native("norm", native_norm);
  register_native("norm_backward", native_norm_backward);
  register_native("index_put_at", native_index_put<false>);
  register_native("index_put_at_", native_index_put<true>);
}

int bind_cuda_kernels(PyObject* module) { return PyModule_AddFunctions(module, cuda_kernels_functions); }

}  // namespace shim
