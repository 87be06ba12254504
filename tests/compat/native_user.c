/* An extension module that imports torch as Cython does, past any __import__: while it starts, and later. */
#include <Python.h>
#ifndef NAME
#define NAME native_user
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static PyObject* or_none(PyObject* found) {
  if (found) return found;
  PyErr_Clear();
  Py_RETURN_NONE;
}
static PyObject* level(PyObject* self, PyObject* none) {
  return or_none(PyImport_ImportModuleLevelObject(PyUnicode_FromString("torch"), NULL, NULL, NULL, 0));
}
static PyObject* name(PyObject* self, PyObject* none) { return or_none(PyImport_ImportModule("torch.nn")); }
static PyObject* get(PyObject* self, PyObject* none) {
  return or_none(PyImport_GetModule(PyUnicode_FromString("torch")));
}
static PyObject* run(PyObject* self, PyObject* none) {
  PyObject* space = PyDict_New();
  Py_XDECREF(PyRun_String("import torch", Py_file_input, space, space));
  PyErr_Clear();
  PyObject* found = PyDict_GetItemString(space, "torch");
  Py_XINCREF(found);
  return or_none(found);
}
static PyMethodDef methods[] = {{"level", level, METH_NOARGS}, {"name", name, METH_NOARGS}, {"get", get, METH_NOARGS},
    {"run", run, METH_NOARGS}, {NULL}};

static int start(PyObject* module) {
#ifdef IMPORTS
  PyObject* other = PyImport_ImportModule(TEXT(IMPORTS));
  if (!other || PyModule_AddObject(module, "other", other) < 0) return -1;
#endif
  if (PyModule_AddObject(module, "in_run", run(NULL, NULL)) < 0) return -1;
  return PyModule_AddObject(module, "torch", level(NULL, NULL));
}
#if SINGLE
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, TEXT(NAME), NULL, -1, methods};
PyMODINIT_FUNC JOIN(PyInit_, NAME)(void) {
  PyObject* module = PyModule_Create(&def);
  if (module && start(module) < 0) return NULL;
  return module;
}
#else
static PyModuleDef_Slot slots[] = {{Py_mod_exec, start}, {0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, TEXT(NAME), NULL, 0, methods, slots};
PyMODINIT_FUNC JOIN(PyInit_, NAME)(void) { return PyModuleDef_Init(&def); }
#endif
