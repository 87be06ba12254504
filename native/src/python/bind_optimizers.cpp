// What a step of an optimizer takes, of Python's lists and dicts.
#include "dispatch/optimizer_lists.h"
#include "python/module_function.h"

namespace shim {
namespace {

using Lists = std::optional<std::vector<std::vector<Tensor>>>;

Lists lists_of_step(PyObject* params, PyObject* state, const Value& names) {
  if (!PyList_Check(params) || !PyDict_Check(state) || names.tag != Value::list) return {};
  Values room;
  const Value given = room.of(params);
  std::vector<Value> states;
  for (uint32_t i = 0; i < given.size; ++i) {
    PyObject* own = names.size ? PyDict_GetItemWithError(state, PyList_GET_ITEM(params, i)) : nullptr;
    if (!own && PyErr_Occurred()) throw PythonError();
    states.push_back(own ? room.of(own) : Value());
  }
  return step_lists({given.items, given.size}, states, {names.items, names.size});
}

const ModulePart optimizer_functions{{function<&lists_of_step>("step_lists")}};

}  // namespace

}  // namespace shim
