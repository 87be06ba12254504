// CPU kernels of norms, softmax's gradient, cross entropy, and moves of elements by their places.
#include <algorithm>

#include "autograd/autograd.h"
#include "cpu/flip_tril.h"
#include "cpu/padding.h"
#include "cpu/row_gradients.h"
#include "ops/repeat.h"
#include "python/native_cpu.h"

namespace shim {

PyObject* tuple_of(std::initializer_list<Tensor> all) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(all.size()));
  Py_ssize_t i = 0;
  for (const Tensor& t : all) {
    PyObject* o = tuple ? wrap(t) : nullptr;
    if (!o)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, i++, o);
  }
  return tuple;
}

namespace {

// The numbers (cols, span, groups, centred).
bool norm_of(PyObject* const* args, PyObject* x, PyObject* weight, PyObject* bias, RowNorm* norm) {
  if (!on_cpu(x) || !on_cpu_or_none(weight) || !on_cpu_or_none(bias)) return false;
  *norm = {Tensor(unwrap(x)), tensor_or_none(weight), tensor_or_none(bias), PyLong_AsLongLong(args[0]),
      PyLong_AsLongLong(args[1]), PyLong_AsLongLong(args[2]), args[3] == Py_True};
  if (PyErr_Occurred() || norm->cols <= 0 || norm->span < 0 || norm->groups <= 0) return false;
  const int64_t weights = norm->span ? norm->cols / norm->span * norm->groups : norm->cols;
  for (const Tensor* t : {&norm->weight, &norm->bias})  // anybody can call the operators: what does not fit is not ours
    if (*t && (*t)->numel() != weights) return false;
  return norm->input->numel() % norm->cols == 0 && (!norm->span || norm->cols % norm->span == 0);
}

// norm(input, weight, bias, cols, span, groups, centred, eps) -> (output, mean, rstd)
PyObject* native_norm(Operator&, PyObject* const* args, size_t n) {
  RowNorm norm;
  Scalar eps;
  if (n != 8 || !norm_of(args + 3, args[0], args[1], args[2], &norm)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[7], &eps)) return nullptr;
    Tensor mean, rstd,
        out = unlocked(norm.input->numel(), [&] { return row_norm(norm, eps.to_double(), &mean, &rstd); });
    return out ? tuple_of({out, mean, rstd}) : nullptr;
  });
}

// norm_backward(g, input, weight, mean, rstd, cols, span, groups, centred, of_weight, of_bias) -> (dx, dweight, dbias), what is not
// asked for being an empty tensor
PyObject* native_norm_backward(Operator&, PyObject* const* args, size_t n) {
  RowNorm norm;
  if (n != 11 || !on_cpu(args[0]) || !on_cpu(args[3]) || !on_cpu(args[4]) ||
      !norm_of(args + 5, args[1], args[2], Py_None, &norm))
    return nullptr;
  const int64_t rows = norm.input->numel() / norm.cols;
  if (unwrap(args[0])->numel() != norm.input->numel() || unwrap(args[3])->numel() != rows ||
      unwrap(args[4])->numel() != rows)
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor weight, bias;
    Tensor r = unlocked(norm.input->numel(), [&] {
      return row_norm_backward(norm, Tensor(unwrap(args[0])), Tensor(unwrap(args[3])), Tensor(unwrap(args[4])),
          args[9] == Py_True ? &weight : nullptr, args[10] == Py_True ? &bias : nullptr);
    });
    if (!r) return nullptr;
    for (Tensor* t : {&weight, &bias})
      if (!*t) *t = empty(Dims{0}, r->dtype(), r->device());
    return tuple_of({r, weight, bias});
  });
}

// softmax_backward(g, result, dim, log): the last dimension
PyObject* native_softmax_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !on_cpu(args[1]) || !PyLong_CheckExact(args[2])) return nullptr;
  const long dim = PyLong_AsLong(args[2]);
  const Tensor g(unwrap(args[0])), result(unwrap(args[1]));
  if (dim != -1 && dim != result->dim() - 1) return nullptr;
  return guarded([&] {
    return wrapped(unlocked(result->numel(), [&] { return softmax_backward(g, result, args[3] == Py_True); }));
  });
}

// cross_entropy(self, target, weight, reduction, ignore_index, keep) -> (loss, log_p, factors, total)
PyObject* native_cross_entropy(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cpu(args[0]) || !on_cpu(args[1]) || !on_cpu_or_none(args[2]) || !PyLong_Check(args[3]) ||
      !PyLong_Check(args[4]))
    return nullptr;
  const long reduction = PyLong_AsLong(args[3]);
  const long long ignored = PyLong_AsLongLong(args[4]);
  return guarded([&]() -> PyObject* {
    CrossEntropy parts;
    const Tensor logits(unwrap(args[0]));
    Tensor loss = unlocked(logits->numel(), [&] {
      return cross_entropy(logits, Tensor(unwrap(args[1])), tensor_or_none(args[2]), int(reduction), ignored,
          args[5] == Py_True, &parts);
    });
    return loss ? tuple_of({loss, parts.log_p, parts.factors, parts.total}) : nullptr;
  });
}

// cross_entropy_backward(g, log_p, target, factors, total, reduction)
PyObject* native_cross_entropy_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !PyLong_Check(args[5])) return nullptr;
  for (int i = 0; i < 5; ++i)
    if (!on_cpu(args[i])) return nullptr;
  const long reduction = PyLong_AsLong(args[5]);
  return guarded([&]() -> PyObject* {
    const CrossEntropy parts{Tensor(unwrap(args[1])), Tensor(unwrap(args[3])), Tensor(unwrap(args[4]))};
    return wrapped(unlocked(parts.log_p->numel(), [&] {
      return cross_entropy_backward(Tensor(unwrap(args[0])), Tensor(unwrap(args[2])), parts, int(reduction));
    }));
  });
}

template <bool Upper> PyObject* native_triangle(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  const long long diagonal = PyLong_AsLongLong(args[1]);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    return wrapped(unlocked(self->numel(), [&] { return triangle(self, diagonal, Upper); }));
  });
}

// complex(real, imag) of one shape
PyObject* native_complex(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || !on_cpu(args[1])) return nullptr;
  const Tensor re(unwrap(args[0])), im(unwrap(args[1]));
  const DType t = re->dtype();
  if (im->dtype() != t || (t != DType::f32 && t != DType::f64) || !std::ranges::equal(re->sizes(), im->sizes()) ||
      !re->is_contiguous() || !im->is_contiguous())
    return nullptr;
  return guarded([&] {
    const Tensor out = empty(re->sizes(), t == DType::f32 ? DType::c64 : DType::c128, Device{});
    unlocked(re->numel(), [&] {
      const Tensor parts = view_as_real(*out);
      copy_(select(*parts, -1, 0), re);
      copy_(select(*parts, -1, 1), im);
      return 0;
    });
    return wrap(out);
  });
}

// diag_embed(self, offset, dim1, dim2), the two dims being the last ones
PyObject* native_diag_embed(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1]) || !PyLong_CheckExact(args[2]) ||
      !PyLong_CheckExact(args[3]))
    return nullptr;
  const Tensor self(unwrap(args[0]));
  const long offset = PyLong_AsLong(args[1]), first = PyLong_AsLong(args[2]), second = PyLong_AsLong(args[3]);
  if (first != -2 || second != -1 || !self->dim() || self->has_math_bits() || std::labs(offset) > (1L << 30))
    return nullptr;
  return guarded([&] {
    Dims shape(self->sizes().begin(), self->sizes().end());
    shape.back() += std::labs(offset);
    shape.push_back(shape.back());
    const Tensor out = empty(shape, self->dtype(), Device{});
    unlocked(out->numel(), [&] {
      fill_(out, Scalar{Scalar::Int, 0});
      copy_(diagonal(*out, offset, int64_t(shape.size()) - 2, int64_t(shape.size()) - 1), self);
      return 0;
    });
    return wrap(out);
  });
}

// tril_indices or triu_indices(row, col, offset, dtype, layout, device, pin_memory)
template <bool Upper> PyObject* native_triangle_indices(Operator&, PyObject* const* args, size_t n) {
  if (n != 7 || args[3] != Py_None || args[4] != Py_None ||
      !(args[5] == Py_None || (is_device(args[5]) && device_of(args[5]).is_cpu())) || args[6] == Py_True)
    return nullptr;
  long size[3];
  for (int i = 0; i < 3; ++i) {
    size[i] = PyLong_CheckExact(args[i]) ? PyLong_AsLong(args[i]) : -1;
    if (PyErr_Occurred()) return PyErr_Clear(), nullptr;
  }
  const long rows = size[0], cols = size[1], offset = size[2];
  if (rows < 0 || cols < 0 || rows > (1L << 30) || cols > (1L << 30) || std::labs(offset) > (1L << 31)) return nullptr;
  return guarded([&] {
    std::vector<int64_t> down, across;
    for (long r = 0; r < rows; ++r)
      for (long c = Upper ? std::max(r + offset, 0L) : 0; c < (Upper ? cols : std::min(r + offset + 1, cols)); ++c)
        down.push_back(r), across.push_back(c);
    const Tensor out = empty(Dims{2, int64_t(down.size())}, DType::i64, Device{});
    std::copy(across.begin(), across.end(), std::copy(down.begin(), down.end(), out->data_as<int64_t>()));
    return wrap(out);
  });
}

}  // namespace

void register_cpu_layers() {
  register_native_cpu("norm", native_norm);
  register_native_cpu("norm_backward", native_norm_backward);
  register_native_cpu("softmax_backward", native_softmax_backward);
  register_native_cpu("cross_entropy", native_cross_entropy);
  register_native_cpu("cross_entropy_backward", native_cross_entropy_backward);
  register_native_cpu("tril", native_triangle<false>);
  register_native_cpu("triu", native_triangle<true>);
  register_native_cpu("complex", native_complex);
  register_native_cpu("diag_embed", native_diag_embed);
  register_native_cpu("tril_indices", native_triangle_indices<false>);
  register_native_cpu("triu_indices", native_triangle_indices<true>);
}

}  // namespace shim
