// Function.apply: forward runs, its results get the node, forward mode asks jvp.
#include <algorithm>

#include "python/batching.h"
#include "python/forward_mode.h"
#include "python/function.h"
#include "python/owned_ref.h"

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
  struct NoTangents {
    int old = forward_gradients();
    NoTangents() { forward_gradients() = 0; }
    ~NoTangents() { forward_gradients() = old; }
  } no_tangents;
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

bool among(PyObject* tuple, PyObject* o) {
  for (Py_ssize_t i = 0; tuple && PyTuple_Check(tuple) && i < PyTuple_GET_SIZE(tuple); ++i)
    if (is_tensor(PyTuple_GET_ITEM(tuple, i)) && unwrap(PyTuple_GET_ITEM(tuple, i)) == unwrap(o)) return true;
  return false;
}

// PyTorch's rules for what jvp may return for a result: `tangent` belongs to it, `inputs` are those of the call.
void check_tangent(PyFunction* ctx, PyObject* result, TensorImpl& tangent, PyObject* const* inputs, size_t n,
    Py_ssize_t at, const std::vector<uint32_t>& versions) {
  CHECK(Kind::Runtime,
      !among(ctx->non_differentiable, result) &&
          (is_floating(unwrap(result)->dtype()) || is_complex(unwrap(result)->dtype())),
      "Function's jvp returned a gradient at position ", at,
      ", but  the corresponding forward output is not a differentiable Tensor.You should return None at that position "
      "instead.");
  const TensorImpl& value = *unwrap(result);
  auto text = [](IntArrayRef d) {
    std::string s = "[";
    for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
    return s + "]";
  };
  CHECK(Kind::Runtime,
      std::equal(value.sizes().begin(), value.sizes().end(), tangent.sizes().begin(), tangent.sizes().end()),
      "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
      "supported. Tensor is of size ",
      text(value.sizes()), " while the given forward gradient is of size ", text(tangent.sizes()), ".");
  const bool dirty = among(ctx->dirty_tensors, result);
  for (size_t i = 0; i < n; ++i) {
    Tensor given = is_tensor(inputs[i]) ? tangent_of(*unwrap(inputs[i])) : Tensor();
    if (!given || value.storage().get() != unwrap(inputs[i])->storage().get()) continue;
    if (dirty) {
      CHECK(Kind::Runtime, unwrap(inputs[i]) != &value || (given.get() == &tangent && given->version() > versions[i]),
          "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying "
          "an input inplace, then the jvp function must modify the corresponding gradient inplace.");
    } else {
      const bool view = tangent.autograd() && tangent.autograd()->base;
      if (view && tangent.storage().get() != given->storage().get())
        fail(Kind::Runtime, "A custom Function is returning a view but the jvp is not returning a view of the ",
            given->autograd() && given->autograd()->base ? "same base as the given grad input." : "given grad input.");
      CHECK(Kind::Runtime, view,
          "A custom Function's forward is returning a view (or an input as-is) "
          "but the jvp is not returning a view.");
    }
  }
}

PyObject* call_jvp(PyObject* cls, PyObject* ctx, PyObject* const* args, size_t n) {
  OwnedRef jvp{PyObject_GetAttrString(cls, "jvp")};
  if (!jvp.o) return nullptr;
  std::vector<PyObject*> given{ctx};
  std::vector<OwnedRef> owned(n);
  for (size_t i = 0; i < n; ++i) {
    Tensor t = is_tensor(args[i]) ? tangent_of(*unwrap(args[i])) : Tensor();
    if (!t && is_tensor(args[i]) && reinterpret_cast<PyFunction*>(ctx)->materialize &&
        (is_floating(unwrap(args[i])->dtype()) || is_complex(unwrap(args[i])->dtype())))
      t = engine_ops().zeros(unwrap(args[i])->sizes(), unwrap(args[i])->dtype(), unwrap(args[i])->device());
    given.push_back(owned[i].o = wrap(t));
  }
  struct Off {
    int old = forward_gradients();
    Off() { forward_gradients() = 0; }
    ~Off() { forward_gradients() = old; }
  } off;
  return PyObject_Vectorcall(jvp.o, given.data(), n + 1, nullptr);
}

// The Function's own jvp gives the tangents of its results.
bool apply_jvp(PyObject* cls, PyObject* ctx, PyObject* const* args, size_t n, PyObject* outputs) {
  std::vector<uint32_t> versions(n);  // of the inputs' tangents
  for (size_t i = 0; i < n; ++i)
    if (Tensor t = is_tensor(args[i]) ? tangent_of(*unwrap(args[i])) : Tensor()) versions[i] = t->version();
  OwnedRef r{call_jvp(cls, ctx, args, n)};
  if (!r.o) return false;
  OwnedRef tuple{PyTuple_Check(r.o) ? Py_NewRef(r.o) : PyTuple_Pack(1, r.o)};
  if (!tuple.o) return false;
  CHECK(Kind::Runtime, PyTuple_GET_SIZE(tuple.o) == PyTuple_GET_SIZE(outputs),
      "Function's jvp returned an invalid number of forward gradients (expected ", PyTuple_GET_SIZE(outputs),
      " but got ", PyTuple_GET_SIZE(tuple.o), ")");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject *o = PyTuple_GET_ITEM(outputs, i), *t = PyTuple_GET_ITEM(tuple.o, i);
    CHECK(Kind::Runtime, t == Py_None || is_tensor(t), "expected Variable or None (got ", Py_TYPE(t)->tp_name,
        ") for grad output ", i, ".");
    if (!is_tensor(o) || !is_tensor(t)) continue;
    check_tangent(reinterpret_cast<PyFunction*>(ctx), o, *unwrap(t), args, n, i, versions);
    set_tangent(Tensor(unwrap(o)), Tensor(unwrap(t)));
  }
  return true;
}

PyObject* apply_to(PyObject* cls, PyObject* const* args, size_t n, PyObject* setup) {
  OwnedRef backward_cls{PyObject_GetAttr(cls, names().backward_cls)};
  OwnedRef ctx{backward_cls.o ? PyObject_CallNoArgs(backward_cls.o) : nullptr};
  if (!ctx.o) return nullptr;
  PyFunction* f = reinterpret_cast<PyFunction*>(ctx.o);
  bool any = false;
  f->needs_input_grad = tuple_by(n, [&](size_t i) {
    const bool wants = is_tensor(args[i]) && unwrap(args[i])->requires_grad();
    any |= wants;
    return PyBool_FromLong(wants);
  });
  Ref<FunctionNode> node;
  if (any && GradMode::enabled()) {
    node = make<FunctionNode>(f, Py_TYPE(ctx.o)->tp_name);
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
  const bool tangents = forward_gradients() && any_tangent(args, n);
  bool single = !PyTuple_Check(output.o);
  OwnedRef outputs{single ? PyTuple_Pack(1, output.o) : Py_NewRef(output.o)};
  if (node && setup) check_saved_as_returned(f, args, n, outputs.o);
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
