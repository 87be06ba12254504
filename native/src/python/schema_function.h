#pragma once
// schema_method<&resize, "resize_(Tensor self, int[] size)">(): functions and methods whose arguments are bound by a signature, as
// operators' are: by its names and defaults, with PyTorch's texts where they do not fit. F takes them in its order.
#include <algorithm>

#include "python/arguments.h"
#include "python/module_parameters.h"

namespace shim {

class CallSchema {
 public:
  explicit CallSchema(const char* signature);
  // False with an error set. A method's `self` comes before the arguments; a function has none.
  bool bind(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, Bound&) const;

 private:
  PythonOperator op_;
  std::vector<Operator*> only_{&op_};
};

namespace module_call {

template <Names signature>
constexpr auto name_in = [] {
  Names name = signature;
  *std::ranges::find(name.text, '(') = 0;
  return name;
}();

// Whether an argument is of the parameter's own type, so that nothing is left to be bound.
template <class P> bool is_of(PyObject* o) {
  using T = std::remove_cvref_t<P>;
  if constexpr (std::is_same_v<T, TensorImpl>) return is_tensor(o);
  if constexpr (std::is_same_v<T, bool>) return PyBool_Check(o);
  if constexpr (std::is_same_v<T, DType>) return is_dtype(o);
  if constexpr (std::is_same_v<T, std::optional<int64_t>>) return PyLong_CheckExact(o) && is_small_int(o);
  return false;
}

template <class F>
[[gnu::noinline]] PyObject* by_schema(
    PyObject* self, PyObject* const* args, size_t n, PyObject* names, F f, bool method, const CallSchema& (*schema)()) {
  return [&]<class... P>(kernel_call::Types<P...> types) -> PyObject* {
    constexpr size_t most = sizeof...(P);
    PyObject* all[most + 1] = {self};
    const size_t given = n + method;
    if (!names && given <= most && given >= least<P...>()) {
      std::copy_n(args, n, all + method);
      size_t at = 0;
      if (((at >= given || is_of<P>(all[at++])) && ...)) return call(f, all, given, types);
    }
    return guarded([&]() -> PyObject* {
      Bound bound;
      if (!schema().bind(method ? self : nullptr, args, Py_ssize_t(n), names, bound)) return nullptr;
      return answer(f, bound.data());
    });
  }(typename kernel_call::Signature<F>::Parameters{});
}
template <auto F, Names signature, Form form>
PyObject* by_schema(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return by_schema(self, args, size_t(n), names, +F, form == Form::method, []() -> const CallSchema& {
    static const auto* const schema = new CallSchema(signature.text);
    return *schema;
  });
}

}  // namespace module_call

template <auto F, module_call::Names signature, Form form = Form::function>
PyMethodDef schema_function(const char* doc = nullptr, const char* name = module_call::name_in<signature>.text) {
  return raw_function(name, &module_call::by_schema<F, signature, form>, doc);
}
template <auto F, module_call::Names signature> PyMethodDef static_schema_method() {
  PyMethodDef m = schema_function<F, signature>();
  m.ml_flags |= METH_STATIC;
  return m;
}
template <auto F, module_call::Names signature>
PyMethodDef schema_method(const char* name = module_call::name_in<signature>.text) {
  return schema_function<F, signature, Form::method>(nullptr, name);
}

}  // namespace shim
