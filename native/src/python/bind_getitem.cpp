// tensor[...] for the usual keys: ints, slices, None, Ellipsis, one index tensor or mask. Everything else, and every error, is
// left to the Python functions of shim_torch._impl.tensor.indexing.
#include "autograd/autograd.h"
#include "core/sparse.h"
#include "python/dispatch.h"
#include "python/module_function.h"
#include "python/override.h"
#include "python/native_ops.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

PyObject *getitem_fallback = nullptr, *setitem_fallback = nullptr;
PyObject *getitem_descriptor = nullptr, *setitem_descriptor = nullptr;

bool plain(PyObject* self) {  // no __torch_function__ to ask
  PyTypeObject* type = Py_TYPE(self);
  return (type == TensorType || reinterpret_cast<PyObject*>(type) == ParameterType) && !torch_function_mode_active();
}

PyObject* call_op(Operator* op, std::initializer_list<PyObject*> owned) {
  Bound b;
  b.reset(owned.size());
  size_t i = 0;
  bool complete = true;
  for (PyObject* o : owned) {
    complete = complete && o;
    b.set(i++, o);
  }
  if (!complete) return nullptr;
  binding_name = op->schema.name.c_str();
  return call_operator(*op, b);
}

struct Ops {  // looked up when first needed: the table is complete then
  Operator *select = find_operator("aten::select", "int"), *slice = find_operator("aten::slice", "Tensor");
  Operator* unsqueeze = find_operator("aten::unsqueeze", "");
  Operator* index = find_operator("aten::index", "Tensor");
  Operator *fill = find_operator("aten::fill_", "Scalar"), *copy = find_operator("aten::copy_", "");
};
const Ops& ops() {
  static const Ops found;
  return found;
}

// None or an int, as far as 64 bits go; false for anything else (an object with __index__ is the fallback's).
bool bound_of(PyObject* o, int64_t missing, int64_t* out) {
  if (o == Py_None) return *out = missing, true;
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) *out = overflow > 0 ? INT64_MAX : INT64_MIN;
  return true;
}

constexpr int64_t kEnd = INT64_MAX;

// One step of basic indexing. Applied to a tensor it gives a view; with history it is an operator call of its own.
struct Step {
  enum Kind : uint8_t { select, slice, unsqueeze } kind;
  int64_t dim, start, end, by;
};

// The key as steps; false where it is not a basic one or is wrong.
bool steps_of(const TensorImpl& self, PyObject* key, std::vector<Step>* steps) {
  const bool many = PyTuple_CheckExact(key);
  const Py_ssize_t n = many ? PyTuple_GET_SIZE(key) : 1;
  PyObject* const* items = many ? &PyTuple_GET_ITEM(key, 0) : &key;
  int used = 0, dots = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyLong_CheckExact(items[i]) || PySlice_Check(items[i]))
      ++used;
    else if (items[i] == Py_Ellipsis)
      ++dots;
    else if (items[i] != Py_None)
      return false;
  }
  if (used > self.dim() || dots > 1) return false;
  int64_t dim = 0, source = 0;  // in the view so far; in self
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = items[i];
    if (item == Py_Ellipsis) {
      dim += self.dim() - used;
      source += self.dim() - used;
    } else if (item == Py_None) {
      steps->push_back({Step::unsqueeze, dim++, 0, 0, 0});
    } else if (PyLong_CheckExact(item)) {
      int64_t at;
      const int64_t size = self.sizes()[size_t(source++)];
      if (!bound_of(item, 0, &at) || at < -size || at >= size) return false;
      steps->push_back({Step::select, dim, at, 0, 0});
    } else {
      auto* s = reinterpret_cast<PySliceObject*>(item);
      int64_t start, end, by;
      if (!bound_of(s->start, 0, &start) || !bound_of(s->stop, kEnd, &end) || !bound_of(s->step, 1, &by) || by <= 0)
        return false;
      if (start != 0 || end != kEnd || by != 1) steps->push_back({Step::slice, dim, start, end, by});
      ++dim;
      ++source;
    }
  }
  return true;
}

Tensor applied(const Tensor& t, const Step& s) {
  if (s.kind == Step::select) return select(*t, s.dim, s.start);
  if (s.kind == Step::slice) return slice(*t, s.dim, s.start, s.end, s.by);
  return unsqueeze(*t, s.dim);
}

PyObject* applied_with_history(PyObject* t, const Step& s) {
  PyObject* dim = PyLong_FromLongLong(s.dim);
  if (s.kind == Step::unsqueeze) return call_op(ops().unsqueeze, {Py_NewRef(t), dim});
  if (s.kind == Step::select) return call_op(ops().select, {Py_NewRef(t), dim, PyLong_FromLongLong(s.start)});
  return call_op(ops().slice,
      {Py_NewRef(t), dim, PyLong_FromLongLong(s.start), PyLong_FromLongLong(s.end), PyLong_FromLongLong(s.by)});
}

// The view a basic key names; null without an error: not for here.
PyObject* basic(PyObject* self, PyObject* key) {
  std::vector<Step> steps;
  const TensorImpl& t = *unwrap(self);
  if (!steps_of(t, key, &steps)) return nullptr;
  if ((GradMode::enabled() && t.requires_grad()) || forward_gradients() || python_dispatch) {
    if (steps.empty()) return nullptr;
    OwnedRef view{Py_NewRef(self)};
    for (const Step& s : steps)
      if (view = OwnedRef(applied_with_history(view, s)); !view.o) return nullptr;
    return view.give();
  }
  return guarded([&]() -> PyObject* {
    Tensor base(unwrap(self)), view = base;
    for (const Step& s : steps) view = applied(view, s);
    if (steps.empty()) view = alias(*base);
    if (!InferenceMode::enabled()) mark_view(view, base);
    return wrap(view);
  });
}

// self[tensor]
PyObject* advanced(PyObject* self, PyObject* key) {
  const TensorImpl &t = *unwrap(self), &k = *unwrap(key);
  if (t.dim() == 0 || k.dim() == 0 || !t.device().is_cpu() || !k.device().is_cpu()) return nullptr;
  if (k.dtype() != DType::i64 && (k.dtype() != DType::b8 || (GradMode::enabled() && t.requires_grad()))) return nullptr;
  return call_op(ops().index, {Py_NewRef(self), Py_BuildValue("[O]", key)});
}

// The fallback, but first the __torch_function__ of what is in the key or assigned; the tensor's own was asked before.
PyObject* asked(PyObject* descriptor, PyObject* fallback, PyObject* const* args, size_t n) {
  if (descriptor && torch_function_enabled()) {
    PyObject* r = call_torch_function(descriptor, CallArgs{args, n, nullptr}, nullptr);
    if (r || PyErr_Occurred()) return r;
  }
  return PyObject_Vectorcall(fallback, args, n, nullptr);
}

PyObject* getitem(PyObject* self, PyObject* key) {
  if (getitem_fallback && plain(self) && ops().index) {
    PyObject* r = is_tensor_exact(key) ? advanced(self, key) : basic(self, key);
    if (r || PyErr_Occurred()) return r;
  }
  PyObject* both[2] = {self, key};
  return asked(getitem_descriptor, getitem_fallback, both, 2);
}

// Whether `value` broadcasts to the view as it is. One in the same memory that has to be spread is the fallback's business.
bool fits(const TensorImpl& value, const TensorImpl& view) {
  if (value.dim() > view.dim() || value.device() != view.device()) return false;
  if (value.storage() == view.storage() && value.numel() != view.numel()) return false;
  for (int i = 1; i <= value.dim(); ++i) {
    const int64_t n = value.sizes()[size_t(value.dim() - i)];
    if (n != 1 && n != view.sizes()[size_t(view.dim() - i)]) return false;
  }
  return true;
}

PyObject* setitem(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "__setitem__ expects a key and a value");
  PyObject *key = args[0], *value = args[1];
  if (__builtin_expect(python_dispatch, 0) && is_tensor(self) && is_sparse(*unwrap(self)))
    return PyErr_Format(PyExc_TypeError, "Cannot assign to a sparse tensor");
  int64_t whole;
  if (PyLong_CheckExact(value) && !unpack_int(value, &whole)) return nullptr;
  const bool number = PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value);
  if (plain(self) && (number || is_tensor_exact(value)) && !is_tensor(key) && ops().fill && ops().copy) {
    OwnedRef view{basic(self, key)};
    if (!view.o && PyErr_Occurred()) return nullptr;
    if (view.o && (number || fits(*unwrap(value), *unwrap(view)))) {
      const OwnedRef r{number ? call_op(ops().fill, {view.give(), Py_NewRef(value)})
                              : call_op(ops().copy, {view.give(), Py_NewRef(value), Py_NewRef(Py_False)})};
      return r.o ? Py_NewRef(Py_None) : nullptr;
    }
  }
  PyObject* all[3] = {self, key, value};
  return asked(setitem_descriptor, setitem_fallback, all, 3);
}

PyMethodDef getitem_method = {"__getitem__", getitem, METH_O, nullptr};
PyMethodDef setitem_method = raw_function("__setitem__", setitem);

// indexing_methods(getitem, setitem): what to set as Tensor.__getitem__ and Tensor.__setitem__; the functions are the fallbacks.
PyObject* indexing_methods(PyObject* get, PyObject* set) {
  Py_XSETREF(getitem_fallback, Py_NewRef(get));
  Py_XSETREF(setitem_fallback, Py_NewRef(set));
  Py_XSETREF(getitem_descriptor, overridable_method(&getitem_method));
  Py_XSETREF(setitem_descriptor, overridable_method(&setitem_method));
  return getitem_descriptor && setitem_descriptor ? Py_BuildValue("OO", getitem_descriptor, setitem_descriptor)
                                                  : nullptr;
}

PyMethodDef getitem_functions[] = {function<&indexing_methods>("indexing_methods"), {}};

}  // namespace

int bind_getitem(PyObject* module) { return PyModule_AddFunctions(module, getitem_functions); }

}  // namespace shim
