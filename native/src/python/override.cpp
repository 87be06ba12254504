// Attributes and methods that are no operators, made visible to __torch_function__. A plain tensor outside modes pays one
// comparison: methods stay method descriptors and attributes stay attribute descriptors, with functions that look first.
#include <cstring>
#include <utility>

#include "python/dispatch.h"
#include "python/override.h"
#include "python/owned_ref.h"

namespace shim {
namespace {

bool overridden(PyObject* self) {
  if (is_tensor_exact(self)) return torch_function_mode_active();
  return torch_function_mode_active() || has_torch_function(self);
}

PyObject* ask(PyObject* callable, PyObject* const* args, size_t n,
    PyObject* names = nullptr) {  // null without an error: nobody answers
  return call_torch_function(callable, CallArgs{args, n, names}, nullptr);
}

// --- attributes ------------------------------------------------------------------------------------------------------------

struct Attribute {
  PyGetSetDef original, seen;
  PyObject* descriptor;
};

PyObject* ask_accessor(Attribute* a, const char* accessor, PyObject* const* args, size_t n) {
  const OwnedRef f{PyObject_GetAttrString(a->descriptor, accessor)};  // torch.Tensor.shape.__get__
  return f.o ? ask(f, args, n) : nullptr;
}

PyObject* get(PyObject* self, void* closure) {
  auto* a = static_cast<Attribute*>(closure);
  if (__builtin_expect(overridden(self), 0)) {
    if (PyObject* r = ask_accessor(a, "__get__", &self, 1); r || PyErr_Occurred()) return r;
  }
  return a->original.get(self, a->original.closure);
}

int set(PyObject* self, PyObject* value, void* closure) {
  auto* a = static_cast<Attribute*>(closure);
  if (__builtin_expect(overridden(self), 0)) {
    PyObject* args[2] = {self, value};
    const OwnedRef r{value ? ask_accessor(a, "__set__", args, 2) : ask_accessor(a, "__delete__", args, 1)};
    if (r.o) return 0;
    if (PyErr_Occurred()) return -1;
  }
  return a->original.set(self, value, a->original.closure);
}

// --- methods ---------------------------------------------------------------------------------------------------------------

struct Method {
  PyMethodDef original, seen;
  PyObject* descriptor;
};

template <class F> F* as(PyCFunction f) { return reinterpret_cast<F*>(reinterpret_cast<void (*)()>(f)); }

// What overrides say of a call, by each calling convention; null without an error: nothing.
PyObject* ask_method(const Method& m, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names = nullptr) {
  std::vector<PyObject*> with{self};
  with.insert(with.end(), args, args + n + (names ? PyTuple_GET_SIZE(names) : 0));
  return ask(m.descriptor, with.data(), size_t(n) + 1, names);
}
PyObject* ask_method(const Method& m, PyObject* self, PyObject* args, PyObject* kwargs) {
  const OwnedRef names{kwargs && PyDict_GET_SIZE(kwargs) ? PySequence_Tuple(kwargs) : nullptr};
  std::vector<PyObject*> all(&PyTuple_GET_ITEM(args, 0), &PyTuple_GET_ITEM(args, 0) + PyTuple_GET_SIZE(args));
  for (Py_ssize_t k = 0; names.o && k < PyTuple_GET_SIZE(names.o); ++k)
    all.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names.o, k)));
  return ask_method(m, self, all.data(), PyTuple_GET_SIZE(args), names);
}

// A C function gets no closure: every method of a calling convention has a function of its own, made by number, which only hands the
// method on and costs a jump.
template <int flags, size_t most, class... A> struct Convention {
  static inline Method methods[most];
  static inline size_t count = 0;

  static PyObject* asked(const Method& m, PyObject* self, A... given) {
    if constexpr (flags == METH_NOARGS)
      return ask_method(m, self, nullptr, 0, nullptr);
    else if constexpr (flags == METH_O) {
      PyObject* one[] = {given...};
      return ask_method(m, self, one, 1);
    } else if constexpr (flags == METH_VARARGS)
      return ask_method(m, self, given..., nullptr);
    else
      return ask_method(m, self, given...);
  }
  [[gnu::noinline]] static PyObject* call(const Method& m, PyObject* self, A... given) {
    if (__builtin_expect(overridden(self), 0))
      if (PyObject* r = asked(m, self, given...); r || PyErr_Occurred()) return r;
    return as<PyObject*(PyObject*, A...)>(m.original.ml_meth)(self, given...);
  }
  template <size_t I> static PyObject* form(PyObject* self, A... given) { return call(methods[I], self, given...); }
  template <size_t... I> static PyCFunction form_of(size_t i, std::index_sequence<I...>) {
    static constexpr PyObject* (*forms[])(PyObject*, A...) = {&form<I>...};
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(forms[i]));
  }

  static PyObject* descriptor(const PyMethodDef& original) {
    if (count == most)
      return PyErr_Format(PyExc_SystemError, "no form for %s: override.cpp has too few", original.ml_name);
    Method& m = methods[count];
    m.original = m.seen = original;
    m.seen.ml_meth = form_of(count++, std::make_index_sequence<most>());
    m.descriptor = PyDescr_NewMethod(TensorBaseType, &m.seen);
    return Py_XNewRef(m.descriptor);
  }
};
using WithoutArguments = Convention<METH_NOARGS, 40, PyObject*>;
using WithOne = Convention<METH_O, 12, PyObject*>;
using Fast = Convention<METH_FASTCALL, 8, PyObject* const*, Py_ssize_t>;
using FastNamed = Convention<METH_FASTCALL | METH_KEYWORDS, 20, PyObject* const*, Py_ssize_t, PyObject*>;
using WithTuple = Convention<METH_VARARGS, 4, PyObject*>;
using WithTupleNamed = Convention<METH_VARARGS | METH_KEYWORDS, 4, PyObject*, PyObject*>;

// --- methods written in Python -------------------------------------------------------------------------------------------------

struct Wrapped {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
};
PyTypeObject* WrappedType;

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  size_t n = size_t(PyVectorcall_NARGS(nargsf));
  if (n && __builtin_expect(is_tensor(args[0]) && overridden(args[0]), 0)) {
    if (PyObject* r = ask(self, args, n, names); r || PyErr_Occurred()) return r;
  }
  return PyObject_Vectorcall(reinterpret_cast<Wrapped*>(self)->function, args, nargsf, names);
}

PyObject* bind_to(PyObject* self, PyObject* obj, PyObject*) {
  return !obj || obj == Py_None ? Py_NewRef(self) : PyMethod_New(self, obj);
}

PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<Wrapped*>(self)->function, name);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  return visit_each(visit, arg, Py_TYPE(self), reinterpret_cast<Wrapped*>(self)->function);
}
int clear(PyObject* self) {
  Py_XSETREF(reinterpret_cast<Wrapped*>(self)->function, Py_NewRef(Py_None));  // its other methods go on to find one
  return 0;
}
void drop(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Py_DECREF(reinterpret_cast<Wrapped*>(self)->function);
  free_object(self);
}

PyObject* repr(PyObject* self) { return PyObject_Repr(reinterpret_cast<Wrapped*>(self)->function); }
PyObject* function_of(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<Wrapped*>(self)->function); }
PyObject* doc_of(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<Wrapped*>(self)->function, "__doc__");
}
PyObject* module_of(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<Wrapped*>(self)->function, "__module__");
}

// Copies and pickles by its name, as a method descriptor does.
PyObject* reduce(PyObject* self, PyObject*) {
  PyObject* name = PyObject_GetAttrString(self, "__name__");
  return name ? Py_BuildValue(
                    "N(ON)", PyObject_GetAttrString(PyImport_AddModule("builtins"), "getattr"), TensorType, name)
              : nullptr;
}

PyMethodDef wrapped_methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef wrapped_members[] = {offset_member("__vectorcalloffset__", offsetof(Wrapped, vectorcall)), {}};
PyGetSetDef wrapped_getset[] = {{"__wrapped__", function_of, nullptr, nullptr, nullptr},
    {"__doc__", doc_of, nullptr, nullptr, nullptr}, {"__module__", module_of, nullptr, nullptr, nullptr}, {}};
PyType_Slot wrapped_slots[] = {slot(Py_tp_dealloc, drop), slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear),
    slot(Py_tp_call, PyVectorcall_Call), slot(Py_tp_descr_get, bind_to), slot(Py_tp_getattro, attribute),
    slot(Py_tp_repr, repr), {Py_tp_methods, wrapped_methods}, {Py_tp_members, wrapped_members},
    {Py_tp_getset, wrapped_getset}, {}};
PyType_Spec wrapped_spec{"torch._C._TensorMethod", sizeof(Wrapped), 0,
    unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR),
    wrapped_slots};

PyObject* overridable(PyObject*, PyObject* function) {
  auto* w = reinterpret_cast<Wrapped*>(WrappedType->tp_alloc(WrappedType, 0));
  if (!w) return nullptr;
  w->vectorcall = call;
  w->function = Py_NewRef(function);
  return reinterpret_cast<PyObject*>(w);
}

PyMethodDef override_functions[] = {
    {"overridable", overridable, METH_O, "A method of Tensor, written in Python, that __torch_function__ sees."}, {}};

}  // namespace

PyObject* overridable_method(PyMethodDef* original) {
  if (std::strcmp(original->ml_name, "__hash__") == 0) return PyDescr_NewMethod(TensorBaseType, original);
  switch (original->ml_flags) {
    case METH_NOARGS: return WithoutArguments::descriptor(*original);
    case METH_O: return WithOne::descriptor(*original);
    case METH_FASTCALL: return Fast::descriptor(*original);
    case METH_FASTCALL | METH_KEYWORDS: return FastNamed::descriptor(*original);
    case METH_VARARGS: return WithTuple::descriptor(*original);
    case METH_VARARGS | METH_KEYWORDS: return WithTupleNamed::descriptor(*original);
    default: return PyDescr_NewMethod(TensorBaseType, original);
  }
}

PyObject* overridable_attribute(PyGetSetDef* original) {
  auto* a = new Attribute{*original, *original, nullptr};  // lives as long as the type
  a->seen.get = get;
  a->seen.set = original->set ? set : nullptr;
  a->seen.closure = a;
  a->descriptor = PyDescr_NewGetSet(TensorBaseType, &a->seen);
  return Py_XNewRef(a->descriptor);
}

int bind_override(PyObject* module) {
  WrappedType = add_type(nullptr, wrapped_spec);
  return WrappedType ? PyModule_AddFunctions(module, override_functions) : -1;
}

}  // namespace shim
