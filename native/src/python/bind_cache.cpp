// Folders of the user's own, and entries kept in them; what is said of work that takes long.
#include <map>

#include "core/cache_folder.h"
#include "core/slow_work.h"
#include "python/native_ops.h"

namespace shim {
namespace {

PyObject* private_folder(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (!text) return nullptr;
  return guarded([&]() -> PyObject* { return PyUnicode_FromString(PrivateFolder(text).why().c_str()); });
}

PyObject* folder_of_cache(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* { return PyUnicode_FromString(cache_folder().c_str()); });
}

PyObject* cache_sweep(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (!text) return nullptr;
  return guarded([&]() -> PyObject* {
    if (const PrivateFolder folder(text); folder.open()) folder.sweep();
    Py_RETURN_NONE;
  });
}

PyObject* cache_keep(PyObject*, PyObject* args) {
  const char *folder, *name, *key, *bytes;
  Py_ssize_t keys, size;
  if (!PyArg_ParseTuple(args, "sss#y#", &folder, &name, &key, &keys, &bytes, &size)) return nullptr;
  return guarded([&]() -> PyObject* {
    keep(folder, name, {key, size_t(keys)}, {bytes, size_t(size)});
    Py_RETURN_NONE;
  });
}

PyObject* cache_kept(PyObject*, PyObject* args) {
  const char *folder, *name, *key;
  Py_ssize_t keys;
  if (!PyArg_ParseTuple(args, "sss#", &folder, &name, &key, &keys)) return nullptr;
  return guarded([&]() -> PyObject* {
    const std::string bytes = kept(folder, name, {key, size_t(keys)});
    return PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size()));
  });
}

std::map<long, SlowWork>& works() {  // under Python's lock
  static auto* w = new std::map<long, SlowWork>();
  return *w;
}

PyObject* slow_work_begin(PyObject*, PyObject* what) {
  static long count = 0;
  const char* text = PyUnicode_AsUTF8(what);
  if (!text) return nullptr;
  return guarded([&]() -> PyObject* {
    works().try_emplace(++count, text);
    return PyLong_FromLong(count);
  });
}

PyObject* slow_work_say(PyObject*, PyObject* args) {
  long number;
  const char* text;
  if (!PyArg_ParseTuple(args, "ls", &number, &text)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (auto it = works().find(number); it != works().end()) it->second.say(text);
    Py_RETURN_NONE;
  });
}

PyObject* slow_work_end(PyObject*, PyObject* number) {
  const long which = PyLong_AsLong(number);
  if (which == -1 && PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    works().erase(which);
    Py_RETURN_NONE;
  });
}

PyMethodDef cache_functions[] = {
    {"private_folder", private_folder, METH_O,
        "Makes a folder for this user alone, or takes others' right to write; why it cannot be used, or nothing."},
    {"cache_folder", folder_of_cache, METH_NOARGS, "Where compiled kernels and measured choices are kept; or nothing."},
    {"cache_sweep", cache_sweep, METH_O, "Removes from a folder what writers that were killed left in it."},
    {"cache_keep", cache_keep, METH_VARARGS, "Keeps (folder, name, key, bytes)."},
    {"cache_kept", cache_kept, METH_VARARGS,
        "The bytes kept as (folder, name, key); none if there are none, or others than were kept."},
    {"slow_work_begin", slow_work_begin, METH_O,
        "A number for work that a terminal is told of once it takes two seconds."},
    {"slow_work_say", slow_work_say, METH_VARARGS, "(number, text): what it does now."},
    {"slow_work_end", slow_work_end, METH_O, "Takes its line back."}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cache(PyObject* module) { return PyModule_AddFunctions(module, cache_functions); }

}  // namespace shim
