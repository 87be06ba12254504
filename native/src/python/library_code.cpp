#include "python/library_code.h"

#include "abi/extension_host.h"
#include "python/operator.h"

namespace shim {

template <> struct module_call::Argument<LibraryCode&> : HeldArgument<LibraryCode> {};

PyObject* call_code(LibraryCode& code, const Schema* schema, const Value* args, size_t n) {
  OwnedRef made;
  code.call(schema, args, n, [&](const Value& v) { made = OwnedRef(object_of(v)); });
  return made.give();
}

namespace {

LibraryCode& code_of(PyObject* o) { return **held_in<LibraryCode>(o); }

// Each is of an argument that no position gives.
void check_keywords(const LibraryCode& code, const Operator* op, size_t given, PyObject* kwargs) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value);) {
    const std::string_view word = utf8(key);
    size_t i = given;
    while (op && i < op->schema.args.size() && op->schema.args[i].name != word) ++i;
    CHECK(Kind::Type, op && i < op->schema.args.size(), code.name(), "() got an unexpected keyword argument '", word,
        "'");
  }
}

// Called on its own (kernels_of): what the schema has, given by position, by name or by default.
PyObject* called(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    std::vector<PyObject*> all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
    const Operator* op = code_of(self).op();
    if (kwargs) check_keywords(code_of(self), op, all.size(), kwargs);
    for (size_t i = all.size(); op && i < op->schema.args.size(); ++i) {
      const Argument& a = op->schema.args[i];
      PyObject* o = kwargs ? PyDict_GetItemString(kwargs, a.name.c_str()) : nullptr;
      all.push_back(o ? o : python_of(*op).slots[i].fallback);
      CHECK(Kind::Type, all.back(), op->schema.qualified(), ": the kernel misses its argument '", a.name, "'");
    }
    CHECK(Kind::Type, !op || all.size() == op->schema.args.size(), op->schema.qualified(), ": the kernel takes ",
        op->schema.args.size(), " arguments, got ", all.size());
    const Values given(all.data(), all.size());
    return call_code(code_of(self), op ? &op->schema : nullptr, given.data(), all.size());
  });
}

PyObject* shown(PyObject* self) {
  return guarded([&] { return module_call::object(code_of(self).name()); });
}

const HeldType<LibraryCode> library_code_type{"LibraryCode", {}, {},
    {slot(Py_tp_call, called), slot(Py_tp_repr, shown),
        documentation_slot(
            "What a compiled library registered: a kernel, a function, or what a class of its own holds.")}};

ExtensionFunction& function_in(LibraryCode& code) {
  auto* function = dynamic_cast<ExtensionFunction*>(&code);
  CHECK(Kind::Type, function, "expected an autograd function of a C++ extension, not ", code.name());
  return *function;
}

module_call::Tuple cxx_forward(LibraryCode& state, PyObject* ctx) { return {function_in(state).forward(ctx)}; }

module_call::Tuple cxx_backward(LibraryCode& state, PyObject* ctx, PyObject* grads) {
  CHECK(Kind::Type, PyTuple_Check(grads), "cxx_backward: gradients are a tuple");
  std::vector<Tensor> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(grads); ++i) {
    PyObject* g = PyTuple_GET_ITEM(grads, i);
    given.emplace_back(g == Py_None ? nullptr : unwrap(g));
  }
  return {function_in(state).backward(ctx, given)};
}

const ModulePart library_code_functions{
    {function<&cxx_forward>("cxx_forward", "forward of a C++ autograd function: (state, ctx) -> tensors."),
        function<&cxx_backward>("cxx_backward", "backward of one: (state, ctx, gradients) -> gradients.")}};

}  // namespace

}  // namespace shim
