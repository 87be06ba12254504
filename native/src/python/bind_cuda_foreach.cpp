// One operation on lists of CUDA tensors, for torch._foreach_* and optimizers. Where no kernel fits they give
// None or False, and the caller takes one tensor at a time.
#include <algorithm>
#include <vector>

#include "autograd/autograd.h"
#include "cuda/foreach.h"
#include "python/native_ops.h"

namespace shim {
namespace {

using Tensors = std::vector<Tensor>;

bool tensors_of(PyObject* o, Tensors* to) {  // a list or tuple of CUDA tensors; None for none of them
  if (o == Py_None) return true;
  if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  to->reserve(size_t(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(items[i]) || !unwrap(items[i])->device().is_cuda() || !has_data(*unwrap(items[i]))) return false;
    to->emplace_back(unwrap(items[i]));
  }
  return true;
}

bool numbers_of(PyObject* o, size_t count, std::vector<double>* to) {
  Scalar n;
  if (number_of(o, &n)) {
    if (n.type == Scalar::Complex) return false;
    to->assign(count, n.to_double());
    return true;
  }
  if ((!PyList_Check(o) && !PyTuple_Check(o)) || size_t(PySequence_Fast_GET_SIZE(o)) != count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!number_of(PySequence_Fast_ITEMS(o)[i], &n) || n.type == Scalar::Complex) return false;
    to->push_back(n.to_double());
  }
  return true;
}

bool differentiated(const Tensors& l) {
  if (!GradMode::enabled()) return false;
  for (const Tensor& t : l)
    if (t->requires_grad()) return true;
  return false;
}

PyObject* list_of(const Tensors& l) {
  PyObject* list = PyTuple_New(Py_ssize_t(l.size()));
  for (size_t i = 0; list && i < l.size(); ++i) {
    PyObject* o = wrap(l[i]);
    if (!o)
      Py_CLEAR(list);
    else
      PyTuple_SET_ITEM(list, Py_ssize_t(i), o);
  }
  return list;
}

// cuda_each(op, in_place, self, others, numbers): others is a tuple of a list, a tensor of one element, or None for the numbers' place;
// numbers one for all, a sequence, or None. The new tensors, or with in_place those given; None where there is no kernel.
PyObject* each(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const char* op = n == 5 ? PyUnicode_AsUTF8(args[0]) : nullptr;
  if (!op || !PyTuple_Check(args[3]) || PyTuple_GET_SIZE(args[3]) > 2)
    return PyErr_Format(PyExc_TypeError, "cuda_each(op, in_place, self, others, numbers)");
  return guarded([&]() -> PyObject* {
    Tensors self, lists[2];
    if (!tensors_of(args[2], &self) || self.empty() || differentiated(self)) Py_RETURN_NONE;
    cuda::Shared rest[2];
    const size_t others = size_t(PyTuple_GET_SIZE(args[3]));
    for (size_t k = 0; k < others; ++k) {
      PyObject* o = PyTuple_GET_ITEM(args[3], Py_ssize_t(k));
      if (o == Py_None) {
        rest[k].kind = cuda::Share::number;
        continue;
      }
      if (is_tensor(o)) {
        if (!unwrap(o)->device().is_cuda() || !has_data(*unwrap(o))) Py_RETURN_NONE;
        rest[k].kind = cuda::Share::one;
        lists[k].emplace_back(unwrap(o));
      } else if (!tensors_of(o, &lists[k])) {
        Py_RETURN_NONE;
      }
      if (differentiated(lists[k])) Py_RETURN_NONE;
      rest[k].tensors = lists[k];
      for (size_t i = 0; rest[k].kind == cuda::Share::own && i < lists[k].size() && i < self.size(); ++i)
        if (!std::ranges::equal(lists[k][i]->sizes(), self[i]->sizes())) Py_RETURN_NONE;
    }
    std::vector<double> numbers;
    if (args[4] != Py_None && !numbers_of(args[4], self.size(), &numbers)) Py_RETURN_NONE;
    const bool in_place = args[1] == Py_True;
    Tensors made;
    if (!in_place) {
      for (const Tensor& t : self) {
        if (!t->is_contiguous()) Py_RETURN_NONE;
        made.push_back(empty(t->sizes(), t->dtype(), t->device()));
      }
    }
    if (!cuda::each(op, in_place ? self : made, self, {rest, others}, numbers)) Py_RETURN_NONE;
    if (!in_place) return list_of(made);
    for (const Tensor& t : self) t->bump_version();
    return Py_NewRef(args[2]);
  });
}

// cuda_norms(list, "two" | "one" | "infinity") -> a tensor of them, or None
PyObject* norms(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const char* order = n == 2 ? PyUnicode_AsUTF8(args[1]) : nullptr;
  if (!order) return PyErr_Format(PyExc_TypeError, "cuda_norms(tensors, order)");
  return guarded([&]() -> PyObject* {
    Tensors tensors;
    if (!tensors_of(args[0], &tensors) || tensors.empty() || differentiated(tensors)) Py_RETURN_NONE;
    const Tensor r = cuda::norms(tensors, *order == 't'   ? cuda::Order::two
                                          : *order == 'o' ? cuda::Order::one
                                                          : cuda::Order::infinity);
    if (!r) Py_RETURN_NONE;
    return wrap(r);
  });
}

bool bumped(std::initializer_list<const Tensors*> lists) {
  for (const Tensors* l : lists)
    for (const Tensor& t : *l) t->bump_version();
  return true;
}

// cuda_adam(parameters, gradients, means, squares, greatest or None, steps, (rate, beta1, beta2, eps, weight_decay), decoupled, maximize)
// -> whether it was done. Steps: numbers, or tensors on the device.
PyObject* adam(PyObject*, PyObject* args) {
  PyObject* lists[6];
  cuda::Adam o{};
  int decoupled, maximize;
  if (!PyArg_ParseTuple(args, "OOOOOO(ddddd)pp", &lists[0], &lists[1], &lists[2], &lists[3], &lists[4], &lists[5],
          &o.rate, &o.beta1, &o.beta2, &o.eps, &o.weight_decay, &decoupled, &maximize))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensors t[5], counts;
    for (int k = 0; k < 5; ++k)
      if (!tensors_of(lists[k], &t[k])) Py_RETURN_FALSE;
    std::vector<double> steps;
    if (numbers_of(lists[5], t[0].size(), &steps))
      o.steps = steps;
    else if (tensors_of(lists[5], &counts))
      o.counts = counts;
    else
      Py_RETURN_FALSE;
    o.decoupled = decoupled;
    o.maximize = maximize;
    if (!cuda::adam(t[0], t[1], t[2], t[3], t[4], o)) Py_RETURN_FALSE;
    return PyBool_FromLong(bumped({&t[0], &t[2], &t[3], &t[4]}));
  });
}

// cuda_sgd(parameters, gradients, buffers or None, (rate, momentum, dampening, weight_decay), nesterov, maximize) -> whether it was done
PyObject* sgd(PyObject*, PyObject* args) {
  PyObject* lists[3];
  cuda::Sgd o{};
  int nesterov, maximize;
  if (!PyArg_ParseTuple(args, "OOO(dddd)pp", &lists[0], &lists[1], &lists[2], &o.rate, &o.momentum, &o.dampening,
          &o.weight_decay, &nesterov, &maximize))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensors t[3];
    for (int k = 0; k < 3; ++k)
      if (!tensors_of(lists[k], &t[k])) Py_RETURN_FALSE;
    o.nesterov = nesterov;
    o.maximize = maximize;
    if (!cuda::sgd(t[0], t[1], t[2], o)) Py_RETURN_FALSE;
    return PyBool_FromLong(bumped({&t[0], &t[2]}));
  });
}

PyMethodDef cuda_many_functions[] = {
    {"cuda_each", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(each)), METH_FASTCALL, nullptr},
    {"cuda_norms", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(norms)), METH_FASTCALL, nullptr},
    {"cuda_adam", adam, METH_VARARGS, nullptr}, {"cuda_sgd", sgd, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_foreach(PyObject* module) { return PyModule_AddFunctions(module, cuda_many_functions); }

}  // namespace shim
