// Function.apply: forward runs, its results get the node, forward mode asks jvp.
#include <algorithm>

#include "python/batching.h"
#include "autograd/forward_mode.h"
#include "python/function.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {

namespace {

struct Names {
  PyObject *backward_cls = PyUnicode_InternFromString("_backward_cls"),
           *forward = PyUnicode_InternFromString("forward"),
           *setup_context = PyUnicode_InternFromString("setup_context");
};
Names& names() {
  static Names n;
  return n;
}

PyObject* python_helper(const char* name) {  // of shim_torch.autograd.function
  OwnedRef module{PyImport_ImportModule("shim_torch.autograd.function")};
  return module.o ? PyObject_GetAttrString(module.o, name) : nullptr;
}

bool has_setup_context(PyObject* cls, PyObject** found) {
  static PyObject* original = nullptr;
  if (!original) {
    OwnedRef function{python_helper("Function")};
    original = function.o ? PyObject_GetAttr(function.o, names().setup_context) : nullptr;
  }
  *found = PyObject_GetAttr(cls, names().setup_context);
  return *found && *found != original;
}

PyObject* run_forward(PyObject* cls, PyObject* ctx, PyObject* const* args, size_t n, PyObject* setup) {
  NoGrad off;
  const NoForwardGradients no_tangents;
  OwnedRef forward{PyObject_GetAttr(cls, names().forward)};
  if (!forward.o) return nullptr;
  if (!setup) {
    std::vector<PyObject*> with{ctx};
    with.insert(with.end(), args, args + n);
    return PyObject_Vectorcall(forward.o, with.data(), n + 1, nullptr);
  }
  PyObject* output = PyObject_Vectorcall(forward.o, args, n, nullptr);
  if (!output) return nullptr;
  OwnedRef inputs{tuple_of_lent(args, n)};
  OwnedRef done{PyObject_CallFunctionObjArgs(setup, ctx, inputs.o, output, nullptr)};
  if (!done.o) Py_CLEAR(output);
  return output;
}

PyObject* call_jvp(PyObject* cls, PyObject* ctx, size_t n, const FunctionTangents& tangents) {
  OwnedRef jvp{PyObject_GetAttrString(cls, "jvp")};
  if (!jvp.o) return nullptr;
  const bool zeros = as_function(ctx)->own.materialize;
  const OwnedRef given{
      tuple_by(n + 1, [&](size_t i) { return i ? wrap(tangents.given(i - 1, zeros)) : Py_NewRef(ctx); })};
  const NoForwardGradients off;
  return given.o ? PyObject_CallObject(jvp, given) : nullptr;
}

// The Function's own jvp gives the tangents of its results.
bool apply_jvp(PyObject* cls, PyObject* ctx, PyObject* const* args, size_t n, PyObject* outputs) {
  const FunctionTangents tangents(impls_of(args, n));
  OwnedRef r{call_jvp(cls, ctx, n, tangents)};
  if (!r.o) return false;
  OwnedRef tuple{PyTuple_Check(r.o) ? Py_NewRef(r.o) : PyTuple_Pack(1, r.o)};
  if (!tuple.o) return false;
  CHECK(Kind::Runtime, PyTuple_GET_SIZE(tuple.o) == PyTuple_GET_SIZE(outputs),
      "Function's jvp returned an invalid number of forward gradients (expected ", PyTuple_GET_SIZE(outputs),
      " but got ", PyTuple_GET_SIZE(tuple.o), ")");
  const auto plain = impls_in(as_function(ctx)->non_differentiable), dirty = impls_in(as_function(ctx)->dirty_tensors);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject *o = PyTuple_GET_ITEM(outputs, i), *t = PyTuple_GET_ITEM(tuple.o, i);
    CHECK(Kind::Runtime, t == Py_None || is_tensor(t), "expected Variable or None (got ", Py_TYPE(t)->tp_name,
        ") for grad output ", i, ".");
    if (!is_tensor(o) || !is_tensor(t)) continue;
    tangents.check(*unwrap(o), *unwrap(t), size_t(i), plain, dirty);
    set_tangent(Tensor(unwrap(o)), Tensor(unwrap(t)));
  }
  return true;
}

PyObject* apply_to(PyObject* cls, PyObject* const* args, size_t n, PyObject* setup) {
  OwnedRef backward_cls{PyObject_GetAttr(cls, names().backward_cls)};
  OwnedRef ctx{backward_cls.o ? PyObject_CallNoArgs(backward_cls.o) : nullptr};
  if (!ctx.o) return nullptr;
  PyFunction* f = as_function(ctx);
  bool any = false;
  f->needs_input_grad = tuple_by(n, [&](size_t i) {
    const bool wants = is_tensor(args[i]) && unwrap(args[i])->requires_grad();
    any |= wants;
    return PyBool_FromLong(wants);
  });
  Ref<FunctionNode> node;
  if (any && GradMode::enabled()) {
    node = make<FunctionNode>(ctx.o, f->own, Py_TYPE(ctx.o)->tp_name);
    std::vector<Edge> edges;
    for (size_t i = 0; i < n; ++i) {
      node->is_tensor_input.push_back(is_tensor(args[i]));
      if (!is_tensor(args[i])) continue;
      const TensorImpl& t = *unwrap(args[i]);
      edges.push_back(gradient_edge(Tensor(unwrap(args[i]))));
      if (__builtin_expect(running_transforms != 0, 0))
        node->given.push_back({{t.sizes().begin(), t.sizes().end()}, t.dtype(), t.device()});
    }
    node->set_next_edges(std::move(edges));
  }
  OwnedRef output{run_forward(cls, ctx.o, args, n, setup)};
  if (!output.o) return nullptr;
  const bool tangents = forward_gradients() && any_tangent(Values(args, n).data(), n);
  bool single = !PyTuple_Check(output.o);
  OwnedRef outputs{single ? PyTuple_Pack(1, output.o) : Py_NewRef(output.o)};
  if (node && setup)
    check_saved_as_returned(impls_of(args, n), impls_in(outputs), impls_in(f->to_save), impls_in(f->dirty_tensors));
  OwnedRef result{wrap_outputs(f, node, args, n, outputs.o)};
  if (!result.o) return nullptr;
  if (tangents && !apply_jvp(cls, ctx.o, args, n, result.o)) return nullptr;
  if (node) save_variables(f, node);
  clear_each(f->to_save, f->dirty_tensors, f->non_differentiable);
  return Py_NewRef(single ? PyTuple_GET_ITEM(result.o, 0) : result.o);
}

bool ours(PyObject* cls) {  // a Function of this package
  OwnedRef home{PyObject_GetAttrString(cls, "__module__")};
  const char* text = home.o && PyUnicode_Check(home.o) ? PyUnicode_AsUTF8(home.o) : nullptr;
  PyErr_Clear();
  return text && std::string_view(text).starts_with("shim_torch.");
}

PyObject* apply_bound(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, bool hooks) {
  OwnedRef setup{nullptr};
  bool separate = has_setup_context(cls, &setup.o);
  if (!setup.o) return nullptr;
  OwnedRef bound{nullptr};
  if (separate || (kwnames && PyTuple_GET_SIZE(kwnames))) {  // defaults and keywords of forward become plain arguments
    OwnedRef bind{python_helper("_bind_arguments")};
    OwnedRef positional{tuple_of_lent(args, size_t(nargs))}, keywords{dict_of_keywords(kwnames, args + nargs)};
    if (!bind.o || !positional.o || !keywords.o) return nullptr;
    bound.o =
        PyObject_CallFunctionObjArgs(bind.o, cls, separate ? Py_True : Py_False, positional.o, keywords.o, nullptr);
    if (!bound.o) return nullptr;
    args = reinterpret_cast<PyTupleObject*>(bound.o)->ob_item;
    nargs = PyTuple_GET_SIZE(bound.o);
  }
  if (__builtin_expect(hooks && batched_class != nullptr, 0) && any_batched(args, size_t(nargs)))
    return apply_batched(cls, args, size_t(nargs));
  if (__builtin_expect(hooks && !separate && running_transforms != 0, 0) && !ours(cls))
    return PyErr_Format(PyExc_RuntimeError,
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        "override the setup_context "
        "staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html");
  return guarded([&]() -> PyObject* { return apply_to(cls, args, size_t(nargs), separate ? setup.o : nullptr); });
}

}  // namespace

PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return apply_bound(cls, args, nargs, kwnames, true);
}

// What torch.func.vmap calls for arguments that it has prepared.
PyObject* function_apply_directly(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return apply_bound(cls, args, nargs, kwnames, false);
}

}  // namespace shim
