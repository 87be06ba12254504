#pragma once
// What __torch_function__ and __torch_dispatch__ have in common: whose hook is asked, in which order, and what is said where all refuse.
#include <string>
#include <vector>

#include "python/owned_ref.h"

namespace shim {

struct Protocol {
  const char* name;                    // "__torch_function__"
  std::vector<PyObject*>& (*modes)();  // of this thread, the innermost last; owned
  PyObject* attribute = PyUnicode_InternFromString(name);
  PyObject* disabled = nullptr;  // what a class has that opted out
  // The class's hook, null where it has none.
  OwnedRef hook_of(PyTypeObject*) const;
  // TypeError: all hooks gave NotImplemented.
  PyObject* refused(const std::string& callable, const std::vector<PyObject*>& asked) const;

  // What the innermost mode, which is off meanwhile, or else the first of `found` gives by invoke(whose hook, whether it is a mode).
  template <class N, class F>
  PyObject* ask(bool mode, const std::vector<PyObject*>& found, N&& name_of_callable, F&& invoke) const {
    if (mode) {
      PyObject* innermost = modes().back();
      modes().pop_back();
      PyObject* result = invoke(innermost, true);
      modes().push_back(innermost);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
    }
    for (PyObject* o : found) {
      PyObject* result = invoke(o, false);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
    }
    return refused(name_of_callable(), found);
  }
};

// The arguments of which has(argument) is true, also of a list's items: subclasses before their bases, each class once.
void add_by_class(PyObject* o, std::vector<PyObject*>& found);
template <class F> void collect_by_class(PyObject* o, std::vector<PyObject*>& found, F&& has) {
  if (PyTuple_Check(o) || PyList_Check(o))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      collect_by_class(PySequence_Fast_GET_ITEM(o, i), found, has);
  else if (has(o))
    add_by_class(o, found);
}
OwnedRef classes_of(const std::vector<PyObject*>& found);  // a tuple, or null with an error set
// (func, types, args=(), kwargs=None): calls func while `off` is set.
PyObject* call_without(bool& off, PyObject* args);

}  // namespace shim
