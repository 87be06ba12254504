// An __import__ that also serves PyImport_Import. That function (pickle's, pybind11's) calls the __import__ of the frame that it
// was called from, drops the result and reads sys.modules. So ours is there from the end of the call until its list of
// names dies: no bytecode runs between, and no other thread.
#include "python/imports/import_object.h"

#include <cstring>

#include "imports/names.h"
#include "python/owned_ref.h"

namespace imports {
namespace {

using shim::OwnedRef;
using shim::slot;

struct Import {
  PyObject_HEAD PyObject* function;  // the __import__ in Python
  PyObject* loaded;                  // a dict: torch's names -> our modules
  PyObject* builtins;  // a dict whose present __import__ is called for all other names; null: the function is, for all
  PyObject* special;   // names that the function is called for, beside torch's and importlib's
  PyObject* hidden;    // a set of packages: for them and for what is in them, too
  vectorcallfunc call;
};

// Puts sys.modules[name] back when the list that holds it dies.
struct Restore {
  PyObject_HEAD PyObject* name;
  PyObject* before;  // nullptr: there was none
  PyObject* ours;
};
PyTypeObject* RestoreType;

void restore(PyObject* object) {
  auto* self = reinterpret_cast<Restore*>(object);
  {
    const shim::Pending raised;
    PyObject* modules = PyImport_GetModuleDict();
    if (PyDict_GetItemWithError(modules, self->name) == self->ours &&
        (self->before ? PyDict_SetItem(modules, self->name, self->before) : PyDict_DelItem(modules, self->name)) < 0)
      PyErr_WriteUnraisable(self->name);
  }
  shim::clear_each(self->name, self->before, self->ours);
  shim::free_object(object);
}

// Whether it is PyImport_Import that calls: it passes its globals twice, and an empty list of its own.
bool is_from_c(PyObject* const* args, size_t count, PyObject* names) {
  return names == nullptr && count == 5 && args[1] == args[2] && PyList_CheckExact(args[3]) &&
         PyList_GET_SIZE(args[3]) == 0 && Py_REFCNT(args[3]) > 1 && PyUnicode_CheckExact(args[0]);
}

int show(PyObject* name, PyObject* ours, PyObject* list) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* before = PyDict_GetItemWithError(modules, name);
  if (before == ours || (!before && PyErr_Occurred())) return before == ours ? 0 : -1;
  const OwnedRef made{RestoreType->tp_alloc(RestoreType, 0)};
  if (!made.o) return -1;
  auto* self = reinterpret_cast<Restore*>(made.o);
  self->name = Py_NewRef(name);
  self->before = Py_XNewRef(before);
  self->ours = Py_NewRef(ours);
  return PyList_Append(list, made) < 0 ? -1 : PyDict_SetItem(modules, name, ours);
}

// Whether a module or a package that it lies in is in the set; an error counts as no.
bool lies_in(PyObject* packages, const char* name) {
  return PySet_GET_SIZE(packages) > 0 && any_package(name, [&](std::string_view package) {
    const OwnedRef part{PyUnicode_FromStringAndSize(package.data(), Py_ssize_t(package.size()))};
    return part.o && PySet_Contains(packages, part) > 0;
  });
}

// Whether an import is no matter of ours. It then has no frame of ours either, which warnings about it would name.
bool is_plain(const Import* self, PyObject* const* args, Py_ssize_t count) {
  if (!self->builtins || count == 0 || !PyUnicode_CheckExact(args[0])) return false;
  const char* name = PyUnicode_AsUTF8(args[0]);
  const int special = name ? PySequence_Contains(self->special, args[0]) : -1;
  if (special < 0) PyErr_Clear();
  return special == 0 && !is_torch(name) && std::strncmp(name, "importlib.", 10) != 0 && !lies_in(self->hidden, name);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  auto* self = reinterpret_cast<Import*>(object);
  const size_t own = flags & ~PY_VECTORCALL_ARGUMENTS_OFFSET;
  if (is_plain(self, args, PyVectorcall_NARGS(flags))) {
    const OwnedRef plain{Py_XNewRef(PyDict_GetItemString(self->builtins, "__import__"))};
    return plain.o ? PyObject_Vectorcall(plain, args, own, names)
                   : PyErr_Format(PyExc_ImportError, "__import__ not found");
  }
  OwnedRef result{PyObject_Vectorcall(self->function, args, own, names)};
  if (!result.o || !is_from_c(args, PyVectorcall_NARGS(flags), names)) return result.give();
  PyObject* module = PyDict_GetItemWithError(self->loaded, args[0]);
  if (!module) return PyErr_Occurred() ? nullptr : result.give();
  PyObject* package = module;
  const Py_ssize_t dot = PyUnicode_FindChar(args[0], '.', 0, PyUnicode_GET_LENGTH(args[0]), 1);
  if (dot > 0) {
    const OwnedRef top{PyUnicode_Substring(args[0], 0, dot)};
    package = top.o ? PyDict_GetItemWithError(self->loaded, top) : nullptr;
  }
  const bool failed = PyErr_Occurred() || (package == result.o && show(args[0], module, args[3]) < 0);
  return failed ? nullptr : result.give();
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *loaded, *builtins = nullptr, *special = nullptr, *hidden = nullptr;
  if (!PyArg_ParseTuple(args, "OO!|O!OO!:Import", &function, &PyDict_Type, &loaded, &PyDict_Type, &builtins, &special,
          &PySet_Type, &hidden))
    return nullptr;
  if (!builtins != !hidden) return PyErr_Format(PyExc_TypeError, "Import: builtins without special and hidden");
  auto* self = reinterpret_cast<Import*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->function = Py_NewRef(function);
  self->loaded = Py_NewRef(loaded);
  self->builtins = Py_XNewRef(builtins);
  self->special = Py_XNewRef(special);
  self->hidden = Py_XNewRef(hidden);
  self->call = call;
  return reinterpret_cast<PyObject*>(self);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Import*>(object);
  return shim::visit_each(
      visit, arg, Py_TYPE(object), self->function, self->loaded, self->builtins, self->special, self->hidden);
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<Import*>(object);
  return shim::clear_each(self->function, self->loaded, self->builtins, self->special, self->hidden);
}

void destroy(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  shim::free_object(object);
}

PyMemberDef members[] = {{"__wrapped__", T_OBJECT, offsetof(Import, function), READONLY, "The function in Python."},
    shim::offset_member("__vectorcalloffset__", offsetof(Import, call)), {}};
PyType_Slot import_slots[] = {slot(Py_tp_new, make), slot(Py_tp_dealloc, destroy), slot(Py_tp_traverse, traverse),
    slot(Py_tp_clear, clear), slot(Py_tp_call, PyVectorcall_Call), {Py_tp_members, members},
    shim::documentation_slot(
        "Import(function, loaded, builtins, special, hidden): function as an __import__ whose answers PyImport_Import "
        "finds in sys.modules. With builtins, names other than torch's, importlib's, those of special and those in a "
        "package of hidden go to the __import__ there."),
    {}};
PyType_Spec import_spec{"shim_torch_proxy._imports.Import", sizeof(Import), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, import_slots};
PyType_Slot restore_slots[] = {slot(Py_tp_dealloc, restore), {}};
PyType_Spec restore_spec{"shim_torch_proxy._imports.Restore", sizeof(Restore), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, restore_slots};

}  // namespace

PyObject* import_type() {
  RestoreType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&restore_spec));
  return RestoreType ? PyType_FromSpec(&import_spec) : nullptr;
}

}  // namespace imports
