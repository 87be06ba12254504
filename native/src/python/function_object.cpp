// torch._C._FunctionBase: the ctx of a user's autograd.Function, and its apply().
#include "python/batching.h"
#include "python/forward_mode.h"
#include "python/function.h"
#include "python/held.h"

#include <structmember.h>

#include <algorithm>

namespace shim {
namespace {

PyTypeObject* FunctionType;
PyFunction* in(PyObject* o) { return reinterpret_cast<PyFunction*>(o); }

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) in(o)->materialize = in(o)->materialize_non_diff = 1;
  return o;
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  PyFunction* f = in(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(f->dict);
  Py_VISIT(f->needs_input_grad);
  Py_VISIT(f->to_save);
  Py_VISIT(f->non_differentiable);
  Py_VISIT(f->dirty_tensors);
  Py_VISIT(f->saved_for_forward);
  for (size_t i = 0; f->saved && i < f->saved->size(); ++i)
    if (int r = visit_saved((*f->saved)[i], visit, arg)) return r;
  return f->owns_node ? visit_shared(f->node, visit, arg) : 0;  // else the node's owner shows what the node holds
}

// What goes may take the node with it, and with that this object's last user: nothing is looked at twice.
int clear(PyObject* o) {
  PyFunction* f = in(o);
  Py_CLEAR(f->dict);
  Py_CLEAR(f->needs_input_grad);
  Py_CLEAR(f->to_save);
  Py_CLEAR(f->non_differentiable);
  Py_CLEAR(f->dirty_tensors);
  Py_CLEAR(f->saved_for_forward);
  for (size_t i = 0; f->saved && i < f->saved->size(); ++i) (*f->saved)[i].reset();
  if (f->owns_node && f->node->use_count() == 1) {
    f->owns_node = 0;
    f->node->release();
  }
  return 0;
}

// Python lets go of a ctx whose node lives on: the node keeps it from now on.
void finalize(PyObject* o) {
  PyFunction* f = in(o);
  if (!f->owns_node || f->node->use_count() < 2) return;
  Py_INCREF(o);
  f->node->owns_ctx = true;
  f->owns_node = 0;
  f->node->release();
}

void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  PyFunction* f = in(o);
  if (f->weakrefs) PyObject_ClearWeakRefs(o);
  if (f->owns_node) {
    f->owns_node = 0;
    f->node->release();
  }
  if (f->node) f->node->lose_ctx();  // a node that lives on: the finalizer had run before it came to that
  clear(o);
  auto* saved = f->saved;
  f->saved = nullptr;
  delete saved;
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

Node& node_or_error(PyObject* o, const char* what) {
  CHECK(Kind::Runtime, in(o)->node, "Attribute '", what,
      "' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an instance of "
      "autograd.Function is a "
      "legacy access pattern that is no longer supported. For examples on how to use new-style autograd functions, see "
      "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function ");
  return *in(o)->node;
}

PyObject* next_functions(PyObject* o, void*) {
  return guarded([&]() -> PyObject* { return next_functions_of(node_or_error(o, "next_functions")); });
}
PyObject* metadata(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Runtime, in(o)->node,
        "You attempted to access the anomaly metadata of a custom autograd function but the underlying PyNode has "
        "already been deallocated.  The most likely "
        "reason this occurred is because you assigned x.grad_fn to a local variable and then let the original variable "
        "get deallocated.  Don't do that!  If you really have no way of "
        "restructuring your code so this is the case, please file an issue reporting that you are affected by this.");
    return node_metadata(*in(o)->node);
  });
}
PyObject* input_metadata(PyObject* o, void*) {
  return guarded([&]() -> PyObject* { return metadata_of_inputs(node_or_error(o, "_input_metadata")); });
}
PyObject* name(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* { return PyUnicode_FromString(node_or_error(o, "name").name().c_str()); });
}
PyObject* register_hook_dict(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    node_or_error(o, "_register_hook_dict");
    Py_RETURN_NONE;
  });
}
PyObject* sequence(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* { return PyLong_FromUnsignedLongLong(node_or_error(o, "_sequence_nr").sequence); });
}
PyObject* register_post(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* { return register_node_hook(node_or_error(o, "register_hook"), f, false); });
}
PyObject* register_pre(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* { return register_node_hook(node_or_error(o, "register_prehook"), f, true); });
}

template <class F> PyObject* each_saved(PyObject* o, F f) {
  return guarded([&]() -> PyObject* {
    PyFunction* ctx = in(o);
    if (!ctx->saved && ctx->saved_for_forward && PyTuple_Check(ctx->saved_for_forward))
      return Py_NewRef(ctx->saved_for_forward);  // for jvp
    CHECK(Kind::Runtime, !ctx->freed,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate "
        "values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you "
        "need to backward through the graph a second time or if you need "
        "to access saved tensors after calling backward.");
    size_t n = ctx->saved ? ctx->saved->size() : 0;
    PyObject* tuple = PyTuple_New(Py_ssize_t(n));
    struct Drop {
      PyObject*& o;
      ~Drop() {
        if (PyErr_Occurred() || std::uncaught_exceptions()) Py_CLEAR(o);
      }
    } drop{tuple};
    for (size_t i = 0; tuple && i < n; ++i)
      PyTuple_SET_ITEM(tuple, Py_ssize_t(i), f((*ctx->saved)[i], Ref<Node>(ctx->node)));
    return tuple;
  });
}

PyObject* saved_tensors(PyObject* o, void*) {
  return each_saved(o, [](SavedTensor& s, const Ref<Node>& owner) { return wrap(s.unpack(owner)); });
}
PyObject* raw_saved_tensors(PyObject* o, void*) {
  return each_saved(o, [o](SavedTensor& s, const Ref<Node>&) {
    return saved_object(Ref<Node>(&node_or_error(o, "_raw_saved_tensors")), &s);
  });
}
PyObject* saved_variables(PyObject* o, void*) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) < 0)
    return nullptr;
  return saved_tensors(o, nullptr);
}

PyGetSetDef getset[] = {{"next_functions", next_functions, nullptr, nullptr, nullptr},
    {"metadata", metadata, nullptr, nullptr, nullptr}, {"_input_metadata", input_metadata, nullptr, nullptr, nullptr},
    {"saved_tensors", saved_tensors, nullptr, nullptr, nullptr},
    {"saved_variables", saved_variables, nullptr, nullptr, nullptr},
    {"_raw_saved_tensors", raw_saved_tensors, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"needs_input_grad", T_OBJECT, offsetof(PyFunction, needs_input_grad), 0, nullptr},
    {"to_save", T_OBJECT, offsetof(PyFunction, to_save), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(PyFunction, non_differentiable), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(PyFunction, dirty_tensors), 0, nullptr},
    {"saved_for_forward", T_OBJECT, offsetof(PyFunction, saved_for_forward), 0, nullptr},
    {"materialize_grads", T_BOOL, offsetof(PyFunction, materialize), 0, nullptr},
    {"_materialize_non_diff_grads", T_BOOL, offsetof(PyFunction, materialize_non_diff), 0, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyFunction, weakrefs), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};

// --- apply ----------------------------------------------------------------------------------------------------------------------

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
  Held module{PyImport_ImportModule("shim_torch.autograd.function")};
  return module.o ? PyObject_GetAttrString(module.o, name) : nullptr;
}

bool has_setup_context(PyObject* cls, PyObject** found) {
  static PyObject* original = nullptr;
  if (!original) {
    Held function{python_helper("Function")};
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
  Held forward{PyObject_GetAttr(cls, names().forward)};
  if (!forward.o) return nullptr;
  if (!setup) {
    std::vector<PyObject*> with(n + 1);
    with[0] = ctx;
    std::copy(args, args + n, with.begin() + 1);
    return PyObject_Vectorcall(forward.o, with.data(), n + 1, nullptr);
  }
  PyObject* output = PyObject_Vectorcall(forward.o, args, n, nullptr);
  if (!output) return nullptr;
  Held inputs{PyTuple_New(Py_ssize_t(n))};
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(inputs.o, Py_ssize_t(i), Py_NewRef(args[i]));
  Held done{PyObject_CallFunctionObjArgs(setup, ctx, inputs.o, output, nullptr)};
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
  auto text = [](DimSpan d) {
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
  Held jvp{PyObject_GetAttrString(cls, "jvp")};
  if (!jvp.o) return nullptr;
  std::vector<PyObject*> given{ctx};
  std::vector<Held> held(n);
  for (size_t i = 0; i < n; ++i) {
    Tensor t = is_tensor(args[i]) ? tangent_of(*unwrap(args[i])) : Tensor();
    if (!t && is_tensor(args[i]) && in(ctx)->materialize &&
        (is_floating(unwrap(args[i])->dtype()) || is_complex(unwrap(args[i])->dtype())))
      t = engine_ops().zeros(unwrap(args[i])->sizes(), unwrap(args[i])->dtype(), unwrap(args[i])->device());
    given.push_back(held[i].o = wrap(t));
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
  Held r{call_jvp(cls, ctx, args, n)};
  if (!r.o) return false;
  Held tuple{PyTuple_Check(r.o) ? Py_NewRef(r.o) : PyTuple_Pack(1, r.o)};
  if (!tuple.o) return false;
  CHECK(Kind::Runtime, PyTuple_GET_SIZE(tuple.o) == PyTuple_GET_SIZE(outputs),
      "Function's jvp returned an invalid number of forward gradients (expected ", PyTuple_GET_SIZE(outputs),
      " but got ", PyTuple_GET_SIZE(tuple.o), ")");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject *o = PyTuple_GET_ITEM(outputs, i), *t = PyTuple_GET_ITEM(tuple.o, i);
    CHECK(Kind::Runtime, t == Py_None || is_tensor(t), "expected Variable or None (got ", Py_TYPE(t)->tp_name,
        ") for grad output ", i, ".");
    if (!is_tensor(o) || !is_tensor(t)) continue;
    check_tangent(in(ctx), o, *unwrap(t), args, n, i, versions);
    set_tangent(Tensor(unwrap(o)), Tensor(unwrap(t)));
  }
  return true;
}

PyObject* apply_to(PyObject* cls, PyObject* const* args, size_t n, PyObject* setup) {
  Held backward_cls{PyObject_GetAttr(cls, names().backward_cls)};
  Held ctx{backward_cls.o ? PyObject_CallNoArgs(backward_cls.o) : nullptr};
  if (!ctx.o) return nullptr;
  PyFunction* f = in(ctx.o);
  bool any = false;
  f->needs_input_grad = PyTuple_New(Py_ssize_t(n));
  for (size_t i = 0; i < n; ++i) {
    bool wants = is_tensor(args[i]) && unwrap(args[i])->requires_grad();
    any |= wants;
    PyTuple_SET_ITEM(f->needs_input_grad, Py_ssize_t(i), PyBool_FromLong(wants));
  }
  Ref<FunctionNode> node;
  if (any && GradMode::enabled()) {
    node = make<FunctionNode>(f, Py_TYPE(ctx.o)->tp_name);
    std::vector<Edge> edges;
    for (size_t i = 0; i < n; ++i) {
      node->is_tensor_input.push_back(is_tensor(args[i]));
      if (is_tensor(args[i])) edges.push_back(gradient_edge(Tensor(unwrap(args[i]))));
    }
    node->set_next_edges(std::move(edges));
  }
  Held output{run_forward(cls, ctx.o, args, n, setup)};
  if (!output.o) return nullptr;
  const bool tangents = forward_gradients() && any_tangent(args, n);
  bool single = !PyTuple_Check(output.o);
  Held outputs{single ? PyTuple_Pack(1, output.o) : Py_NewRef(output.o)};
  if (node && setup) check_saved_as_returned(f, args, n, outputs.o);
  Held result{wrap_outputs(f, node, args, n, outputs.o)};
  if (!result.o) return nullptr;
  if (tangents && !apply_jvp(cls, ctx.o, args, n, result.o)) return nullptr;
  if (node) save_variables(f, node);
  Py_CLEAR(f->to_save);
  Py_CLEAR(f->dirty_tensors);
  Py_CLEAR(f->non_differentiable);
  return Py_NewRef(single ? PyTuple_GET_ITEM(result.o, 0) : result.o);
}

bool ours(PyObject* cls) {  // a Function of this package
  Held home{PyObject_GetAttrString(cls, "__module__")};
  const char* text = home.o && PyUnicode_Check(home.o) ? PyUnicode_AsUTF8(home.o) : nullptr;
  PyErr_Clear();
  return text && std::string_view(text).starts_with("shim_torch.");
}

PyObject* apply_bound(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, bool hooks) {
  Held setup{nullptr};
  bool separate = has_setup_context(cls, &setup.o);
  if (!setup.o) return nullptr;
  Held bound{nullptr};
  if (separate || (kwnames && PyTuple_GET_SIZE(kwnames))) {  // defaults and keywords of forward become plain arguments
    Held bind{python_helper("_bind_arguments")};
    Held positional{PyTuple_New(nargs)}, keywords{PyDict_New()};
    if (!bind.o || !positional.o || !keywords.o) return nullptr;
    for (Py_ssize_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(positional.o, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
      if (PyDict_SetItem(keywords.o, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) < 0) return nullptr;
    bound.o =
        PyObject_CallFunctionObjArgs(bind.o, cls, separate ? Py_True : Py_False, positional.o, keywords.o, nullptr);
    if (!bound.o) return nullptr;
    args = reinterpret_cast<PyTupleObject*>(bound.o)->ob_item;
    nargs = PyTuple_GET_SIZE(bound.o);
  }
  if (__builtin_expect(hooks && batched_class != nullptr, 0) && any_batched(args, size_t(nargs)))
    return apply_batched(cls, args, size_t(nargs));
  if (__builtin_expect(hooks && !separate && running_transforms() != 0, 0) && !ours(cls)) {
    PyErr_SetString(PyExc_RuntimeError,
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        "override the setup_context "
        "staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html");
    return nullptr;
  }
  return guarded([&]() -> PyObject* { return apply_to(cls, args, size_t(nargs), separate ? setup.o : nullptr); });
}

PyObject* apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return apply_bound(cls, args, nargs, kwnames, true);
}

// What torch.func.vmap calls for arguments that it has prepared.
PyObject* apply_directly(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return apply_bound(cls, args, nargs, kwnames, false);
}

PyMethodDef methods[] = {{"name", name, METH_NOARGS, nullptr}, {"register_hook", register_post, METH_O, nullptr},
    {"register_prehook", register_pre, METH_O, nullptr}, {"_sequence_nr", sequence, METH_NOARGS, nullptr},
    {"_register_hook_dict", register_hook_dict, METH_O, nullptr},
    {"_apply_directly", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply_directly)),
        METH_FASTCALL | METH_KEYWORDS | METH_CLASS, nullptr},
    {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply)),
        METH_FASTCALL | METH_KEYWORDS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)}, {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_finalize, reinterpret_cast<void*>(finalize)}, {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)}, {Py_tp_getset, getset}, {Py_tp_members, members},
    {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"torch._C._FunctionBase", sizeof(PyFunction), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* function_ctx(Node* node) {
  auto* f = dynamic_cast<FunctionNode*>(node);
  if (!f) return nullptr;
  auto* o = reinterpret_cast<PyObject*>(f->ctx());
  if (!o) return nullptr;
  if (!f->owns_ctx) return Py_NewRef(o);
  may_be_finalized_again(o);
  f->owns_ctx = false;  // the node's reference goes to the caller, and the ctx keeps the node
  f->retain();
  f->ctx()->owns_node = 1;
  return o;
}

Ref<Node> node_of_function(PyObject* o) {
  return PyObject_TypeCheck(o, FunctionType) ? Ref<Node>(in(o)->node) : Ref<Node>();
}

int bind_function(PyObject* module) {
  FunctionType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return FunctionType ? PyObject_SetAttrString(module, "_FunctionBase", reinterpret_cast<PyObject*>(FunctionType)) : -1;
}

}  // namespace shim
