#include "python/module_function.h"

namespace shim {

namespace {

// The place of a name among those that spaces part; -1: it is none of them.
int place_of(std::string_view name, std::string_view names) {
  for (int i = 0;; ++i) {
    const size_t end = names.find(' ');
    if (names.substr(0, end) == name) return i;
    if (end == names.npos) return -1;
    names.remove_prefix(end + 1);
  }
}

}  // namespace

bool module_call::in_order(std::string_view names, std::span<const bool> lacking, PyObject* const* args, size_t n,
    PyObject* keywords, PyObject** given) {
  const size_t most = lacking.size();
  if (n > most) return PyErr_Format(PyExc_TypeError, "expected %zu arguments, got %zu", most, n), false;
  std::fill(std::copy_n(args, n, given), given + most, nullptr);
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* word = PyTuple_GET_ITEM(keywords, k);
    const int at = place_of(utf8(word), names);
    if (at < 0 || given[at])
      return PyErr_Format(PyExc_TypeError,
                 at < 0 ? "got an unexpected keyword argument '%U'" : "got multiple values for argument '%U'", word),
             false;
    given[at] = args[n + size_t(k)];
  }
  for (size_t i = 0; i < most; ++i)
    if (!given[i] && !lacking[i]) return PyErr_Format(PyExc_TypeError, "argument %zu is missing", i + 1), false;
  std::replace(given, given + most, static_cast<PyObject*>(nullptr), Py_None);
  return true;
}

}  // namespace shim
