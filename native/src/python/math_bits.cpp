#include "python/math_bits.h"

#include "autograd/autograd.h"
#include "ops/kernels.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"
#include "python/owned_ref.h"

namespace shim {
namespace {

bool has_bits(PyObject* o) { return is_tensor(o) && unwrap(o)->has_math_bits(); }
bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

}  // namespace

bool has_math_bits(PyObject* const* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return t.has_math_bits(); });
}

ResolvedArguments::ResolvedArguments(PyObject* const* args, size_t n, bool recorded) : args_(args) {
  given_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    given_.push_back(resolve(args[i], recorded));
    if (given_.back()) continue;
    for (PyObject* o : given_) Py_XDECREF(o);
    throw PythonError();
  }
}

ResolvedArguments::~ResolvedArguments() {
  for (PyObject* o : given_) Py_DECREF(o);
}

PyObject* ResolvedArguments::resolve(PyObject* o, bool recorded) {
  if (has_bits(o)) return recorded ? PyObject_CallMethod(o, "clone", nullptr) : wrap(resolved_copy(Tensor(unwrap(o))));
  if (!is_list(o) || !has_math_bits(&o, 1)) return Py_NewRef(o);
  const size_t n = size_t(PySequence_Fast_GET_SIZE(o));
  const auto one = [&](size_t i) { return resolve(PySequence_Fast_GET_ITEM(o, i), recorded); };
  return PyTuple_Check(o) ? tuple_by(n, one) : list_by(n, one);
}

bool ResolvedArguments::write_back(const Schema& schema) {
  for (size_t i = 0; i < given_.size() && i < schema.args.size(); ++i) {
    if (given_[i] == args_[i] || !schema.args[i].alias || !schema.args[i].alias->write || !is_tensor(args_[i]))
      continue;
    if (const OwnedRef done{PyObject_CallMethod(args_[i], "copy_", "O", given_[i])}; !done.o) return false;
  }
  return true;
}

PyObject* ResolvedArguments::original(PyObject* result) {
  for (size_t i = 0; result && i < given_.size(); ++i)
    if (given_[i] == result && given_[i] != args_[i]) Py_SETREF(result, Py_NewRef(args_[i]));
  return result;
}

}  // namespace shim
