#include "python/program_values.h"

#include "program/values.h"
#include "python/values.h"

namespace shim {

using namespace program;

List values_of(Recorder& recorder, PyObject* const* args, size_t n) {
  Values given;
  List values;
  for (size_t i = 0; i < n; ++i) values.push_back(args[i] ? recorded(given.of(args[i]), recorder) : program::Value{});
  return values;
}

void collect_tensors(PyObject* result, std::vector<Tensor>& into) {
  if (is_tensor(result)) {
    into.emplace_back(unwrap(result));
  } else if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      collect_tensors(PySequence_Fast_GET_ITEM(result, i), into);
  } else {
    CHECK(Kind::Runtime, result == Py_None, "a step of a trace gave a ", Py_TYPE(result)->tp_name,
        ", which is no tensor");
  }
}

}  // namespace shim
