// Between a user's autograd.Function and its node: what gives the gradients, and what the results of forward get.
#include "python/function.h"
#include "python/owned_ref.h"

#include <algorithm>
#include <utility>

namespace shim {
namespace {

OwnedRef attribute(PyObject* o, PyObject* name) { return owned(PyObject_GetAttr(o, name)); }

struct Names {
  PyObject *forward_cls = PyUnicode_InternFromString("_forward_cls"),
           *backward = PyUnicode_InternFromString("backward"), *vjp = PyUnicode_InternFromString("vjp");
};
const Names& names() {
  static const Names all;
  return all;
}

void* user_class_of(void* ctx) { return attribute(static_cast<PyObject*>(ctx), names().forward_cls).give(); }

void* backward_of(void* ctx) {
  static PyObject* base = nullptr;
  if (!base) base = imported("shim_torch.autograd.function", "Function").give();
  const auto& [_, backward, vjp] = names();
  const OwnedRef cls{static_cast<PyObject*>(user_class_of(ctx))};
  OwnedRef b = attribute(cls, backward), v = attribute(cls, vjp);
  const bool has_vjp = v.o != attribute(base, vjp).o;
  CHECK(Kind::Runtime, !has_vjp || b.o == attribute(base, backward).o,
      "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
      "them.");
  return (has_vjp ? v : b).give();
}

}  // namespace

void set_function_calls() { function_calls = {backward_of, user_class_of}; }

// --- the results of forward -----------------------------------------------------------------------------------------------------

namespace {

using Impls = FunctionOutputs::Impls;

Impls tensors_of(PyObject* tuple, const char* what) {
  Impls found;
  if (!tuple || tuple == Py_None) return found;
  CHECK(Kind::Type, PyTuple_Check(tuple), "autograd internal error: saved attribute '", what,
      "' is not a tuple but is ", Py_TYPE(tuple)->tp_name);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    CHECK(Kind::Type, is_tensor(o), what, " can accept only tensors, but argument ", i, " is of type ",
        Py_TYPE(o)->tp_name);
    found.push_back(unwrap(o));
  }
  return found;
}

PyObject* given_object(PyObject* o, const FunctionOutputs::Given& given) {
  if (!given.view) return given.tensor.get() == unwrap(o) ? Py_NewRef(o) : wrap(given.tensor);
  const bool plain = Py_TYPE(o) == TensorType || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType;
  return plain ? wrap(given.tensor) : wrap_as(given.tensor, Py_TYPE(o));
}

}  // namespace

Impls impls_of(PyObject* const* args, size_t n) {
  Impls all;
  for (size_t i = 0; i < n; ++i) all.push_back(is_tensor(args[i]) ? unwrap(args[i]) : nullptr);
  return all;
}

Impls impls_in(PyObject* tuple) {
  return tuple && PyTuple_Check(tuple) ? impls_of(&PyTuple_GET_ITEM(tuple, 0), size_t(PyTuple_GET_SIZE(tuple)))
                                       : Impls();
}

PyObject* wrap_outputs(
    PyFunction* ctx, const Ref<FunctionNode>& node, PyObject* const* args, size_t nargs, PyObject* outputs) {
  const Py_ssize_t n = PyTuple_GET_SIZE(outputs);
  Impls returned = impls_in(outputs);
  std::erase(returned, nullptr);
  FunctionOutputs all(node.get(), impls_of(args, nargs), tensors_of(ctx->dirty_tensors, "mark_dirty"),
      tensors_of(ctx->non_differentiable, "mark_non_differentiable"), returned);
  OwnedRef result = owned(PyTuple_New(n));
  std::vector<FunctionOutput> kinds;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(outputs, i);
    if (is_tensor(o)) {
      const FunctionOutputs::Given given = all.give(Tensor(unwrap(o)));
      kinds.push_back(given.kind);
      PyTuple_SET_ITEM(result.o, i, owned(given_object(o, given)).give());
    } else {
      all.give_no_tensor();
      kinds.push_back(FunctionOutput::not_tensor);
      PyTuple_SET_ITEM(result.o, i, Py_NewRef(o));
    }
  }
  for (Py_ssize_t i = 0; i < n; ++i)
    if (PyObject* o = PyTuple_GET_ITEM(result.o, i); is_tensor(o)) all.guard_view(Tensor(unwrap(o)), kinds[size_t(i)]);
  if (node) node->outputs = std::move(kinds);
  return result.give();
}

bool save_variables(PyFunction* ctx, const Ref<FunctionNode>& node) {
  PyObject* to_save = ctx->to_save;
  if (!to_save || to_save == Py_None) return true;
  CHECK(Kind::Type, PyTuple_Check(to_save), "saved attribute 'to_save' is not a tuple but is ",
      Py_TYPE(to_save)->tp_name);
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(to_save); ++i) {
    PyObject* o = PyTuple_GET_ITEM(to_save, i);
    CHECK(Kind::Type, o == Py_None || is_tensor(o), "save_for_backward can only save variables, but argument ", i,
        " is of type ", Py_TYPE(o)->tp_name);
    tensors.emplace_back(o == Py_None ? nullptr : unwrap(o));
  }
  if (!ctx->own.saved) ctx->own.saved = new std::vector<SavedTensor>();
  *ctx->own.saved = saved_for_function(node.get(), tensors);
  Py_CLEAR(ctx->to_save);
  return true;
}

}  // namespace shim
