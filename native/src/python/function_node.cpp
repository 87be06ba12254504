// The node of a user's autograd.Function: calls its class' backward; gives the results of forward their history.
#include "python/function.h"
#include "python/owned_ref.h"

#include <algorithm>
#include <utility>

namespace shim {
namespace {

PyObject* interned(const char* s) { return PyUnicode_InternFromString(s); }

Tensor zeros_like_meta(const InputMeta& m) { return engine_ops().zeros(m.sizes, m.dtype, m.device); }

thread_local bool own_tangents = false;

}  // namespace

bool want_own_tangents(bool on) { return std::exchange(own_tangents, on); }

FunctionNode::FunctionNode(PyFunction* ctx, std::string name) : ctx_(ctx), name_(std::move(name)) {
  Py_INCREF(ctx_);
  ctx_->node = this;
}

FunctionNode::~FunctionNode() {
  if (!python_lives()) return;
  GilAcquire gil;
  if (ctx_) ctx_->node = nullptr;
  if (owns_ctx) Py_DECREF(ctx_);
}

void FunctionNode::release_saved() {
  GilAcquire gil;
  if (!ctx_ || !ctx_->saved) return;
  for (SavedTensor& s : *ctx_->saved) s.reset();
  if (!ctx_->saved->empty()) ctx_->freed = 1;
}

PyObject* FunctionNode::call_backward(PyObject* args) {
  static PyObject *forward_cls = interned("_forward_cls"), *backward = interned("backward"), *vjp = interned("vjp"),
                  *base = nullptr;
  if (!base) {
    OwnedRef module{PyImport_ImportModule("shim_torch.autograd.function")};
    base = module.o ? PyObject_GetAttrString(module.o, "Function") : nullptr;
    if (!base) return nullptr;
  }
  OwnedRef cls{PyObject_GetAttr(reinterpret_cast<PyObject*>(ctx_), forward_cls)};
  if (!cls.o) return nullptr;
  OwnedRef b{PyObject_GetAttr(cls.o, backward)}, v{PyObject_GetAttr(cls.o, vjp)}, b0{PyObject_GetAttr(base, backward)},
      v0{PyObject_GetAttr(base, vjp)};
  if (!b.o || !v.o || !b0.o || !v0.o) return nullptr;
  if (b.o != b0.o && v.o != v0.o)
    return PyErr_Format(PyExc_RuntimeError,
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
        "them.");
  return PyObject_CallObject(v.o != v0.o ? v.o : b.o, args);
}

// _transposed_jvp(Function, ctx, inputs, cotangents); an input is None or zeros like it. None: it has no jvp to call.
PyObject* FunctionNode::transposed_jvp(PyObject* args) {
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.autograd.own_tangents")};
  OwnedRef call{module.o ? PyObject_GetAttrString(module.o, "transposed_jvp") : nullptr};
  OwnedRef cls{PyObject_GetAttrString(reinterpret_cast<PyObject*>(ctx_), "_forward_cls")};
  size_t tensors = 0;
  OwnedRef zeros{tuple_by(is_tensor_input.size(),
      [&](size_t i) { return wrap(is_tensor_input[i] ? zeros_like_meta(given[tensors++]) : Tensor()); })};
  if (!call.o || !cls.o || !zeros.o) return nullptr;
  OwnedRef cotangents{PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args))};
  return cotangents.o ? PyObject_CallFunctionObjArgs(
                            call.o, cls.o, reinterpret_cast<PyObject*>(ctx_), zeros.o, cotangents.o, nullptr)
                      : nullptr;
}

Grads FunctionNode::apply(Grads&& grads) {
  GilAcquire gil;
  CHECK(Kind::Runtime, ctx_, name_, ": its ctx was freed");
  Ref<Node> alive(this);
  OwnedRef ctx_alive{Py_NewRef(reinterpret_cast<PyObject*>(ctx_))};
  OwnedRef args = owned(tuple_by(outputs.size() + 1, [&](size_t k) {
    if (k == 0) return Py_NewRef(ctx_alive);
    const size_t i = k - 1;
    const bool zeros = !grads[i] && outputs[i] != FunctionOutput::not_tensor && ctx_->materialize &&
                       (outputs[i] == FunctionOutput::differentiable || ctx_->materialize_non_diff);
    return wrap(zeros ? zeros_like_meta(inputs[i]) : grads[i]);
  }));
  grads.clear();
  if (__builtin_expect(own_tangents, 0) && !given.empty()) {
    OwnedRef r{transposed_jvp(args.o)};
    if (!r.o) throw PythonError();
    if (r != Py_None) return results(r.o);
  }
  OwnedRef r{call_backward(args.o)};
  if (!r.o) throw PythonError();
  return results(r.o);
}

Grads FunctionNode::results(PyObject* r) {
  OwnedRef tuple{PyTuple_Check(r) ? Py_NewRef(r) : PyTuple_Pack(1, r)};
  if (!tuple.o) throw PythonError();
  size_t n = size_t(PyTuple_GET_SIZE(tuple.o)), expected = is_tensor_input.size();
  bool rest_none = n > expected;  // trailing Nones are forgiven
  for (size_t i = expected; i < n; ++i) rest_none = rest_none && PyTuple_GET_ITEM(tuple.o, Py_ssize_t(i)) == Py_None;
  CHECK(Kind::Runtime, n == expected || rest_none, "function ", name_,
      " returned an incorrect number of gradients (expected ", expected, ", got ", n, ")");
  Grads out;
  for (size_t i = 0; i < expected; ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple.o, Py_ssize_t(i));
    if (!is_tensor_input[i]) {
      CHECK(Kind::Runtime, o == Py_None, "function ", name_, " returned a gradient different than None at position ",
          i + 1, ", but the corresponding forward input was not a Variable");
      continue;
    }
    CHECK(Kind::Runtime, o == Py_None || is_tensor(o), "expected Variable or None (got ", Py_TYPE(o)->tp_name, ")");
    out.push_back(o == Py_None ? Tensor() : Tensor(unwrap(o)));
  }
  return out;
}

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
  if (!ctx->saved) ctx->saved = new std::vector<SavedTensor>();
  *ctx->saved = saved_for_function(node.get(), tensors);
  Py_CLEAR(ctx->to_save);
  return true;
}

}  // namespace shim
