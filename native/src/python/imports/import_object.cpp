// An __import__ that also serves PyImport_Import. That function (pickle's, pybind11's) calls the __import__ of the frame that it
// was called from, drops the result and reads sys.modules. So ours is there from the end of the call until its list of
// names dies: no bytecode runs between, and no other thread.
#include "python/imports/import_object.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace imports {
namespace {

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

void restore(PyObject* object) {
  auto* self = reinterpret_cast<Restore*>(object);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* modules = PyImport_GetModuleDict();
  if (PyDict_GetItemWithError(modules, self->name) == self->ours) {
    if ((self->before != nullptr ? PyDict_SetItem(modules, self->name, self->before)
                                 : PyDict_DelItem(modules, self->name)) < 0)
      PyErr_WriteUnraisable(self->name);
  }
  PyErr_Restore(type, value, trace);
  Py_DECREF(self->name);
  Py_XDECREF(self->before);
  Py_DECREF(self->ours);
  PyObject_Free(self);
}

PyTypeObject RestoreType = {PyVarObject_HEAD_INIT(nullptr, 0)};

// Whether it is PyImport_Import that calls: it passes its globals twice, and an empty list of its own.
bool is_from_c(PyObject* const* args, size_t count, PyObject* names) {
  return names == nullptr && count == 5 && args[1] == args[2] && PyList_CheckExact(args[3]) &&
         PyList_GET_SIZE(args[3]) == 0 && Py_REFCNT(args[3]) > 1 && PyUnicode_CheckExact(args[0]);
}

int show(PyObject* name, PyObject* ours, PyObject* list) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* before = PyDict_GetItemWithError(modules, name);
  if (before == ours || (before == nullptr && PyErr_Occurred() != nullptr)) return before == ours ? 0 : -1;
  auto* self = PyObject_New(Restore, &RestoreType);
  if (self == nullptr) return -1;
  self->name = Py_NewRef(name);
  self->before = Py_XNewRef(before);
  self->ours = Py_NewRef(ours);
  const int failed = PyList_Append(list, reinterpret_cast<PyObject*>(self));
  Py_DECREF(self);
  return failed < 0 ? -1 : PyDict_SetItem(modules, name, ours);
}

// Whether a module or a package that it lies in is in the set; an error counts as no.
bool lies_in(PyObject* packages, const char* name) {
  bool found = false;
  for (const char* end = PySet_GET_SIZE(packages) > 0 ? name : nullptr; end != nullptr && !found;) {
    end = std::strchr(end == name ? end : end + 1, '.');
    PyObject* part = end != nullptr ? PyUnicode_FromStringAndSize(name, end - name) : PyUnicode_FromString(name);
    found = part != nullptr && PySet_Contains(packages, part) > 0;
    Py_XDECREF(part);
  }
  return found;
}

// Whether an import is no matter of ours. It then has no frame of ours either, which warnings about it would name.
bool is_plain(const Import* self, PyObject* const* args, Py_ssize_t count) {
  if (self->builtins == nullptr || count == 0 || !PyUnicode_CheckExact(args[0])) return false;
  const char* name = PyUnicode_AsUTF8(args[0]);
  const int special = name != nullptr ? PySequence_Contains(self->special, args[0]) : -1;
  if (special < 0) PyErr_Clear();
  return special == 0 && !is_torch(name) && std::strncmp(name, "importlib.", 10) != 0 && !lies_in(self->hidden, name);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  auto* self = reinterpret_cast<Import*>(object);
  const size_t own = flags & ~PY_VECTORCALL_ARGUMENTS_OFFSET;
  if (is_plain(self, args, PyVectorcall_NARGS(flags))) {
    PyObject* plain = PyDict_GetItemString(self->builtins, "__import__");
    if (plain == nullptr) return PyErr_Format(PyExc_ImportError, "__import__ not found");
    Py_INCREF(plain);
    PyObject* module = PyObject_Vectorcall(plain, args, own, names);
    Py_DECREF(plain);
    return module;
  }
  PyObject* result = PyObject_Vectorcall(self->function, args, own, names);
  if (result == nullptr || !is_from_c(args, PyVectorcall_NARGS(flags), names)) return result;
  PyObject* module = PyDict_GetItemWithError(self->loaded, args[0]);
  if (module == nullptr) return PyErr_Occurred() != nullptr ? (Py_DECREF(result), nullptr) : result;
  PyObject* package = module;
  const Py_ssize_t dot = PyUnicode_FindChar(args[0], '.', 0, PyUnicode_GET_LENGTH(args[0]), 1);
  if (dot > 0) {
    PyObject* top = PyUnicode_Substring(args[0], 0, dot);
    package = top != nullptr ? PyDict_GetItemWithError(self->loaded, top) : nullptr;
    Py_XDECREF(top);
  }
  if (PyErr_Occurred() != nullptr || (package == result && show(args[0], module, args[3]) < 0)) Py_CLEAR(result);
  return result;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *loaded, *builtins = nullptr, *special = nullptr, *hidden = nullptr;
  if (!PyArg_ParseTuple(args, "OO!|O!OO!:Import", &function, &PyDict_Type, &loaded, &PyDict_Type, &builtins, &special,
          &PySet_Type, &hidden))
    return nullptr;
  if ((builtins == nullptr) != (hidden == nullptr))
    return PyErr_Format(PyExc_TypeError, "Import: builtins without special and hidden");
  auto* self = reinterpret_cast<Import*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
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
  Py_VISIT(self->function);
  Py_VISIT(self->loaded);
  Py_VISIT(self->builtins);
  Py_VISIT(self->special);
  Py_VISIT(self->hidden);
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<Import*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->loaded);
  Py_CLEAR(self->builtins);
  Py_CLEAR(self->special);
  Py_CLEAR(self->hidden);
  return 0;
}

void destroy(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  Py_TYPE(object)->tp_free(object);
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Import, function), READONLY, "The function in Python."},
    {nullptr, 0, 0, 0, nullptr},
};
PyTypeObject ImportType = {PyVarObject_HEAD_INIT(nullptr, 0)};

}  // namespace

bool is_torch(const char* name) {
  for (const char* package : {"torch", "functorch"}) {
    const size_t length = std::strlen(package);
    if (std::strncmp(name, package, length) == 0 && (name[length] == '\0' || name[length] == '.')) return true;
  }
  return false;
}

PyObject* import_type() {
  RestoreType.tp_name = "shim_torch_proxy._imports.Restore";
  RestoreType.tp_basicsize = sizeof(Restore);
  RestoreType.tp_flags = Py_TPFLAGS_DEFAULT;
  RestoreType.tp_dealloc = restore;
  ImportType.tp_name = "shim_torch_proxy._imports.Import";
  ImportType.tp_doc =
      "Import(function, loaded, builtins, special, hidden): function as an __import__ whose answers PyImport_Import "
      "finds in "
      "sys.modules. "
      "With builtins, names other than torch's, importlib's, those of special and those in a package of hidden go to "
      "the "
      "__import__ there.";
  ImportType.tp_basicsize = sizeof(Import);
  ImportType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  ImportType.tp_vectorcall_offset = offsetof(Import, call);
  ImportType.tp_call = PyVectorcall_Call;
  ImportType.tp_new = make;
  ImportType.tp_dealloc = destroy;
  ImportType.tp_traverse = traverse;
  ImportType.tp_clear = clear;
  ImportType.tp_members = members;
  if (PyType_Ready(&RestoreType) < 0 || PyType_Ready(&ImportType) < 0) return nullptr;
  return Py_NewRef(reinterpret_cast<PyObject*>(&ImportType));
}

}  // namespace imports
