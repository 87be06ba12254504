#include "python/schema_function.h"

namespace shim {

CallSchema::CallSchema(const char* signature) {
  op_.schema = parse_schema(std::string(signature) + " -> ()");
  op_.prepare();
}

bool CallSchema::bind(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, Bound& bound) const {
  const size_t more = size_t(n) + (names ? size_t(PyTuple_GET_SIZE(names)) : 0);
  constexpr size_t kFew = 8;
  PyObject* few[kFew + 1];
  std::vector<PyObject*> many(self && more > kFew ? more + 1 : 0);
  PyObject** const all = many.empty() ? few : many.data();
  if (self) {
    all[0] = self;
    std::copy_n(args, more, all + 1);
  }
  const CallArgs given{self ? all : args, size_t(n) + (self ? 1 : 0), names};
  const Form form = self ? Form::method : Form::function;
  binding_name = op_.schema.name.c_str();
  return bind_arguments(only_, binding_name, form, given, bound);
}

}  // namespace shim
