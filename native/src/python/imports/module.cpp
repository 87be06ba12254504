// shim_torch_proxy._imports: what C code asks for torch with, answered for libraries in scope. It is no part of the core, for
// it is needed before our torch is loaded.
#include <iterator>

#include "imports/library.h"
#include "imports/names.h"
#include "python/imports/import_object.h"
#include "python/owned_ref.h"

namespace imports {
namespace {

PyObject* answer = nullptr;    // (name, names) -> the module that an import of torch in scope gives
PyObject* loaded = nullptr;    // a dict: torch's names -> our modules
PyObject* builtins = nullptr;  // the dict of builtins of code in scope

bool names_torch(PyObject* name) {
  const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text != nullptr && is_torch(text);
}

// As the functions of Python that libraries in scope call in their place.
PyObject* import_level(PyObject* name, PyObject* globals, PyObject* locals, PyObject* names, int level) {
  if (level != 0 || !names_torch(name)) return PyImport_ImportModuleLevelObject(name, globals, locals, names, level);
  return PyObject_CallFunctionObjArgs(answer, name, names != nullptr ? names : Py_None, nullptr);
}

PyObject* import_level_text(const char* name, PyObject* globals, PyObject* locals, PyObject* names, int level) {
  const shim::OwnedRef text{PyUnicode_FromString(name)};
  return text.o ? import_level(text, globals, locals, names, level) : nullptr;
}

PyObject* import_name(PyObject* name) {
  return names_torch(name) ? PyObject_CallFunction(answer, "O(s)", name, "__name__") : PyImport_Import(name);
}

PyObject* import_text(const char* name) {
  return is_torch(name) ? PyObject_CallFunction(answer, "s(s)", name, "__name__") : PyImport_ImportModule(name);
}

PyObject* get_module(PyObject* name) {
  return names_torch(name) ? Py_XNewRef(PyDict_GetItemWithError(loaded, name)) : PyImport_GetModule(name);
}

PyObject* get_builtins() { return builtins; }

bool give_builtins(PyObject* globals) {
  return globals == nullptr || !PyDict_Check(globals) || PyDict_GetItemString(globals, "__builtins__") != nullptr ||
         PyDict_SetItemString(globals, "__builtins__", builtins) == 0;
}

PyObject* run_text(const char* text, int start, PyObject* globals, PyObject* locals, PyCompilerFlags* flags) {
  return give_builtins(globals) ? PyRun_StringFlags(text, start, globals, locals, flags) : nullptr;
}

PyObject* run_code(PyObject* code, PyObject* globals, PyObject* locals) {
  return give_builtins(globals) ? PyEval_EvalCode(code, globals, locals) : nullptr;
}

template <class F> void* address(F* function) { return reinterpret_cast<void*>(function); }

const Function functions[] = {
    {"PyImport_ImportModuleLevelObject", address(import_level)},
    {"PyImport_ImportModuleLevel", address(import_level_text)},
    {"PyImport_Import", address(import_name)},
    {"PyImport_ImportModule", address(import_text)},
    {"PyImport_ImportModuleNoBlock", address(import_text)},
    {"PyImport_GetModule", address(get_module)},
    {"PyEval_GetBuiltins", address(get_builtins)},
    {"PyRun_StringFlags", address(run_text)},
    {"PyEval_EvalCode", address(run_code)},
};

PyObject* set_up(PyObject*, PyObject* args) {
  PyObject *new_answer, *new_loaded, *new_builtins;
  if (!PyArg_ParseTuple(args, "OO!O!:set_up", &new_answer, &PyDict_Type, &new_loaded, &PyDict_Type, &new_builtins))
    return nullptr;
  Py_XSETREF(answer, Py_NewRef(new_answer));
  Py_XSETREF(loaded, Py_NewRef(new_loaded));
  Py_XSETREF(builtins, Py_NewRef(new_builtins));
  Py_RETURN_NONE;
}

PyObject* bind_path(PyObject*, PyObject* args) {
  PyObject *path, *folder;
  int flags;
  if (!PyArg_ParseTuple(args, "O&O&i:bind", PyUnicode_FSConverter, &path, PyUnicode_FSConverter, &folder, &flags))
    return nullptr;
  const shim::OwnedRef held_path{path}, held_folder{folder};
  if (!answer) return PyErr_Format(PyExc_RuntimeError, "bind: set_up was not called");
  const std::string file = PyBytes_AS_STRING(path), place = PyBytes_AS_STRING(folder);
  return PyLong_FromLong(bind(file, place, flags, functions, std::size(functions)));
}

#if PY_VERSION_HEX >= 0x030C0000
// Dicts that are to have what is put into another: a copy of builtins for code in scope.
int watcher = -1;
PyObject* copies = nullptr;  // a list of (dict, a frozenset of the names that are its own)

int changed(PyDict_WatchEvent event, PyObject*, PyObject* key, PyObject* value) {
  if (event != PyDict_EVENT_ADDED && event != PyDict_EVENT_MODIFIED && event != PyDict_EVENT_DELETED) return 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(copies); ++i) {
    PyObject* pair = PyList_GET_ITEM(copies, i);
    PyObject* copy = PyTuple_GET_ITEM(pair, 0);
    const int own = PySet_Contains(PyTuple_GET_ITEM(pair, 1), key);
    if (own != 0) {
      if (own < 0) return -1;
    } else if (value != nullptr) {
      if (PyDict_SetItem(copy, key, value) < 0) return -1;
    } else if (PyDict_DelItem(copy, key) < 0) {
      PyErr_Clear();
    }
  }
  return 0;
}

PyObject* follow(PyObject*, PyObject* args) {
  PyObject *source, *copy, *own;
  if (!PyArg_ParseTuple(args, "O!O!O!:follow", &PyDict_Type, &source, &PyDict_Type, &copy, &PyFrozenSet_Type, &own))
    return nullptr;
  if (copies == nullptr && (copies = PyList_New(0)) == nullptr) return nullptr;
  if (watcher < 0 && (watcher = PyDict_AddWatcher(changed)) < 0) return nullptr;
  const shim::OwnedRef pair{PyTuple_Pack(2, copy, own)};
  if (!pair.o || PyList_Append(copies, pair) < 0 || PyDict_Watch(watcher, source) < 0) return nullptr;
  Py_RETURN_NONE;
}
#endif

PyMethodDef methods[] = {
    {"set_up", set_up, METH_VARARGS, "set_up(answer, loaded, builtins): what bound libraries get."},
    {"bind", bind_path, METH_VARARGS,
        "bind(path, folder, flags): loads a library whose imports from C are ours from now on, with those under "
        "folder; the number "
        "of references set, -1 where it cannot be loaded."},
#if PY_VERSION_HEX >= 0x030C0000
    {"follow", follow, METH_VARARGS,
        "follow(source, copy, own): copy gets each change of source, but for the names of own."},
#endif
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject* module) {
  const shim::OwnedRef type{import_type()};
  return type.o ? PyModule_AddObjectRef(module, "Import", type) : -1;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "shim_torch_proxy._imports", "Imports from C by libraries in scope.",
    0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace imports

PyMODINIT_FUNC PyInit__imports() { return PyModuleDef_Init(&imports::definition); }
