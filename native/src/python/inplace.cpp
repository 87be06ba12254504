// In-place and out= variants, derived from the functional operator.
#include <algorithm>
#include <utility>
#include <unordered_set>

#include "autograd/autograd.h"
#include "ops/kernels.h"
#include "python/dispatch.h"
#include "python/forward_mode.h"
#include "python/owned_ref.h"
#include "python/math_bits.h"
#include "python/overlap.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

std::string shape_text(IntArrayRef s) {
  std::string text = "[";
  for (size_t i = 0; i < s.size(); ++i) text += (i ? ", " : "") + std::to_string(s[i]);
  return text + "]";
}

bool equal(IntArrayRef a, IntArrayRef b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }

void write(const Tensor& target, const Tensor& result) {
  if (!target->device().is_meta()) copy_(target, result);
  target->bump_version();
}

// Whether a formula that will run names `self`: one of its inputs wants a gradient.
bool saves_self(const Operator& op, PyObject* const* args) {
  auto wanted = [&](const std::string& input) {
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (op.schema.args[i].name == input) return any_requires_grad(args + i, 1);
    return false;
  };
  auto names = [&](const std::vector<Formula>& formulas) {
    for (const Formula& f : formulas)
      if (std::find(f.parameters.begin(), f.parameters.end(), "self") != f.parameters.end() &&
          std::any_of(f.inputs.begin(), f.inputs.end(), wanted))
        return true;
    return false;
  };
  return names(op.formulas) || names(op.fused);
}

// The value and history that self had before the write: what formulas naming `self` need.
Tensor before_write(const Tensor& self) {
  Tensor copy = clone(self);
  if (self->requires_grad()) {
    Edge edge = gradient_edge(self);
    AutogradMeta& meta = copy->ensure_autograd();
    meta.grad_fn = edge.node;
    meta.output_nr = edge.input_nr;
  }
  if (Tensor tangent = tangent_of(*self)) set_tangent(copy, engine_ops().clone(tangent));  // self's own is written to
  return copy;
}

// The texts of operators that do not go through PyTorch's iterator.
void check_result_shape(const std::string& name, const TensorImpl& result, const TensorImpl& target) {
  if (equal(result.sizes(), target.sizes())) return;
  if (name == "addmm" || name == "addmv" || name == "baddbmm")
    fail(Kind::Runtime, "Bad in-place call: input tensor size ", shape_text(target.sizes()), " and output tensor size ",
        shape_text(result.sizes()), " should match");
  if (name == "addr" && result.dim() == 2) {
    CHECK(Kind::Runtime, target.dim() == 2, "2D tensor expected, got ", target.dim(), "D tensor for input");
    fail(Kind::Runtime, "size mismatch, input: ", shape_text(target.sizes()), ", v1: [", result.sizes()[0], "], v2: [",
        result.sizes()[1], "]");
  }
}

void check_result(const Operator& f, const TensorImpl& result, const TensorImpl& target) {
  check_result_shape(f.schema.name, result, target);
  CHECK(Kind::Runtime, equal(result.sizes(), target.sizes()), "output with shape ", shape_text(target.sizes()),
      " doesn't match the broadcast shape ", shape_text(result.sizes()));
  check_result_cast(f, result.dtype(), target.dtype());
}

// The functional operator on what self was, copied into self; what its parts save is not what is written to.
PyObject* composite_inplace(Operator& op, PyObject** args, size_t n) {
  PyObject* self = args[0];
  Tensor target(unwrap(self));
  std::vector<PyObject*> given(args, args + n);
  OwnedRef before{nullptr};
  if (GradMode::enabled() && any_requires_grad(args, n)) {
    check_inplace(target);
    before.o = wrap(before_write(target));
    given[0] = before.o;
  }
  OwnedRef result{run_functional(*op.functional, given.data(), n)};
  if (!result.o) return nullptr;
  if (is_tensor(result.o)) check_result(*op.functional, *unwrap(result.o), *target);
  OwnedRef done{PyObject_CallMethod(self, "copy_", "O", result.o)};
  return done.o ? Py_NewRef(self) : nullptr;
}

// __torch_dispatch__ writes; versions and history are still ours.
PyObject* dispatch_inplace(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  Tensor target(unwrap(args[0]));
  const bool history = GradMode::enabled() && any_requires_grad(args, n);
  if (history || target->is_inference) check_inplace(target);
  OwnedRef before{nullptr};
  if (history && saves_self(f, args)) before.o = PyObject_CallMethod(args[0], "clone", nullptr);
  const uint32_t version = target->version();
  OwnedRef r{call_torch_dispatch(op, args, n)};
  if (!r.o) return nullptr;
  if (target->version() == version) target->bump_version();
  if (history && f.kind != Operator::Composite) {
    std::vector<PyObject*> saved(args, args + n);
    if (before.o) saved[0] = before.o;
    record_history(f, saved.data(), n, args[0], true);
    if (PyErr_Occurred()) return nullptr;
  }
  return Py_NewRef(args[0]);
}

// A function that is differentiated writes to what it was given and to what it made, nothing else.
void check_captured(const Operator& op, const TensorImpl& target) {
  if (target.made_in >= gradient_transforms || own_bodies) return;
  const Schema& s = op.schema;
  fail(Kind::Runtime,
      "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
      "(aten::",
      s.name, s.overload.empty() ? "" : ".", s.overload,
      ") that would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to "
      "explicitly accept the mutated Tensor(s) as inputs.");
}

bool given_again(const TensorImpl& target, PyObject* const* args, size_t n) {
  return std::any_of(args + 1, args + n,
      [&](PyObject* o) { return is_tensor(o) && (unwrap(o) == &target || unwrap(o)->storage() == target.storage()); });
}

struct WithoutTangents {
  int old = forward_gradients();
  WithoutTangents() { forward_gradients() = 0; }
  ~WithoutTangents() { forward_gradients() = old; }
};

// A tensor whose values a Python class holds takes those of a result, without its tangent.
bool take_value(PyObject* self, PyObject* result) {
  WithoutTangents off;
  NoGrad no_grad;
  return OwnedRef(PyObject_CallMethod(self, "copy_", "O", result)).o != nullptr;
}

// The tangent of what is written is that of the functional operator. With a history it has one too, and what the backward
// saves has tangents: forward over reverse.
PyObject* inplace_with_tangents(Operator& op, PyObject** args, size_t n, bool history) {
  Operator& f = *op.functional;
  Tensor target(unwrap(args[0]));
  std::vector<PyObject*> given(args, args + n);
  OwnedRef scratch{nullptr};
  if (&f == &op) {  // copy_, fill_: there is no form that leaves the target alone
    scratch.o = wrap(empty_strided(target->sizes(), target->strides(), target->dtype(), target->device()));
    given[0] = scratch.o;
  }
  const bool flows = any_tangent(given.data(), n);
  OwnedRef before{nullptr};  // the tangent's history needs the values that are written over
  for (size_t i = 0; flows && history && i < n; ++i) {
    if (given[i] != args[0]) continue;
    if (!before.o) before.o = PyObject_CallMethod(args[0], "clone", nullptr);
    if (!before.o) return nullptr;
    given[i] = before.o;
  }
  OwnedRef result{nullptr};
  if (flows || !history) {
    result.o = flows ? call_with_tangents(f, given.data(), n) : run_functional(f, args, n);
    if (!result.o) return nullptr;
  }
  const Tensor tangent = flows ? tangent_of(*unwrap(result.o)) : Tensor();
  if (history) {
    WithoutTangents off;
    OwnedRef done{run_inplace(op, args, n)};
    if (!done.o) return nullptr;
    write_tangent(target, tangent);
    const AutogradMeta* m = target->autograd();
    if (m && m->grad_fn && tangent) m->grad_fn->give_tangent(m->output_nr, tangent, forward_level());
    return Py_NewRef(args[0]);
  }
  if (!flows) {
    target->bump_version();
  } else {
    if (target->is_inference) check_inplace(target);
    if (has_data(*target) && has_data(*unwrap(result.o)))
      write(target, Tensor(unwrap(result.o)));
    else if (!take_value(args[0], result.o))
      return nullptr;
  }
  write_tangent(target, tangent);
  return Py_NewRef(args[0]);
}

}  // namespace

constinit thread_local int own_bodies = 0;

PyObject* run_inplace(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  PyObject* self = args[0];
  if (__builtin_expect(gradient_transforms, 0)) check_captured(op, *unwrap(self));
  const bool tangents = __builtin_expect(forward_gradients(), 0) && any_tangent(args, n);
  if (__builtin_expect(python_dispatch, 0) && !tangents && wants_dispatch(args, n))
    return dispatch_inplace(op, args, n);
  if (f.kind == Operator::Composite) return composite_inplace(op, args, n);
  Tensor target(unwrap(self));
  const bool apart =
      any_math_bits(args, n) && !op.traits->reads_math_bits;  // computed of copies, then written through the bits
  if (!apart) check_overlap(*target, f, args + 1, n - 1);
  check_same_device(op, args, n);
  const bool history = GradMode::enabled() && any_requires_grad(args, n);
  if (tangents) return inplace_with_tangents(op, args, n, history);
  CHECK(Kind::Runtime, !is_complex(target->dtype()) || f.schema.name != "abs",
      "In-place abs is not supported for complex tensors.");
  if (history || target->is_inference) check_inplace(target);
  for (NativeFn native : {op.native_cpu, op.native}) {
    if (!native || history || apart) continue;  // natives write in one pass
    PyObject* r = native(op, args, n);
    if (r) {
      ++op.calls_native;
      target->bump_version();
      return r;
    }
    if (PyErr_Occurred()) return nullptr;
  }
  OwnedRef before{nullptr};
  if (history && saves_self(f, args)) before.o = wrap(before_write(target));
  std::vector<PyObject*> saved;
  if (history) saved.assign(args, args + n);
  if (before.o) saved[0] = before.o;
  Ref<Node> prepared;  // x.mul_(x) saves the x that it writes over: backward then sees that it changed
  if (history && given_again(*target, args, n)) prepared = prepare_history(f, saved.data(), n);
  OwnedRef result{nullptr};
  {
    NoGrad off;
    result.o = run_functional(f, args, n);
  }
  if (!result.o) return nullptr;
  PyObject* value = result.o;
  CHECK(Kind::Type, is_tensor(value), op.schema.qualified(), ": the functional result is not a tensor");
  TensorImpl* r = unwrap(value);
  check_result(f, *r, *target);
  if (r == target.get())
    target->bump_version();  // a native kernel wrote it already
  else
    write(target, Tensor(r));
  if (history) {
    record_history(f, saved.data(), n, self, true, prepared);
    if (PyErr_Occurred()) return nullptr;
  }
  return Py_NewRef(self);
}

namespace {

// A result in memory of its own and without gaps is written in its own order; any other in C order.
Dims strides_of_output(const Tensor& result, const TensorImpl& out, const Operator& f) {
  IntArrayRef sizes = result->sizes();
  const OutOrder order = f.traits->out_order;
  if (order == OutOrder::contiguous || (order == OutOrder::contiguous_when_resized && out.numel() != 0))
    return contiguous_strides(sizes);
  const bool own = result->storage()->nbytes() == size_t(result->numel()) * result->itemsize() && result->numel() > 0;
  if (!own) return contiguous_strides(sizes);
  Dims strides;
  for (int64_t s : result->strides()) strides.push_back(s);
  for (int64_t s : strides)
    if (s <= 0) return contiguous_strides(sizes);
  return strides;
}

void resize_output(const Tensor& out, IntArrayRef sizes, const Dims& strides, OutResize how) {
  if (equal(out->sizes(), sizes)) return;
  if (how == OutResize::rounded) {
    const int64_t n = product(sizes);
    std::string text = str("The number of elements in the out tensor of shape ", shape_text(out->sizes()), " is ",
        out->numel(), " which does not match the computed number of elements ", n,
        ". Note that this may occur as a result of rounding error. The out tensor will be resized to a tensor of shape "
        "(",
        n, ",).");
    if (out->numel() != 0 && PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
  } else if (out->numel() != 0 && how == OutResize::warned) {
    std::string text = str("An output with one or more elements was resized since it had shape ",
        shape_text(out->sizes()), ", which does not match the required output shape ", shape_text(sizes),
        ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
        "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
        "t.resize_(0).");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
  }
  size_t bytes = storage_bytes(sizes, strides, out->itemsize()) + size_t(out->storage_offset()) * out->itemsize();
  if (out->storage()->nbytes() < bytes) out->storage()->resize(bytes);
  out->set_geometry(sizes, strides, out->storage_offset());
}

// PyTorch's factories resize their out silently.
OutResize resized_by(const Operator& f) {
  const OutResize how = f.traits->out_resize;
  if (how == OutResize::silent) return how;
  for (const Argument& a : f.schema.args)
    if (a.type.base == ArgType::Tensor) return OutResize::warned;
  return how == OutResize::rounded ? how : OutResize::silent;
}

// `argument`: out's name; `any_dtype`: only that the result can be cast to out's is asked for.
void store_output(PyObject* out, PyObject* result, const Operator& f, const std::string& argument,
    OutResize how = OutResize::warned, bool any_dtype = false) {
  CHECK(Kind::Type, is_tensor(out) && is_tensor(result), "out= takes tensors");
  Tensor target(unwrap(out)), r(unwrap(result));
  CHECK(Kind::Runtime, target->device() == r->device(), "Expected out tensor to have device ", to_string(r->device()),
      ", but got ", to_string(target->device()), " instead");
  if (f.traits->out_resize == OutResize::first)
    resize_output(target, r->sizes(), strides_of_output(r, *target, f), how);
  if (!any_dtype) check_out_dtype(f, r->dtype(), target->dtype());
  check_result_cast(f, r->dtype(), target->dtype(), argument);
  if (f.traits->any_out_shape && target->numel() == r->numel())
    r = as_strided(*r, target->sizes(), contiguous_strides(target->sizes()), r->storage_offset());
  resize_output(target, r->sizes(), strides_of_output(r, *target, f), how);
  write(target, r);
}

// A list of results into a list of tensors; PyTorch's functions of that kind return nothing.
PyObject* store_list(PyObject* outs, PyObject* results, const Operator& f) {
  const Py_ssize_t given = PySequence_Fast_GET_SIZE(outs), n = PySequence_Fast_GET_SIZE(results);
  CHECK(Kind::Runtime, given == n, f.schema.name, "_out() expected an out= argument of size ", n, ", got size ", given);
  for (Py_ssize_t i = 0; i < n; ++i)
    store_output(PySequence_Fast_GET_ITEM(outs, i), PySequence_Fast_GET_ITEM(results, i), f, "out");
  Py_RETURN_NONE;
}

// PyTorch's error where out= or an input asks for a gradient: a function made of others fails where it writes.
[[noreturn]] void refuse_gradients(const Operator& f, PyObject** args, size_t inputs, size_t n) {
  const std::string& name = f.schema.name;
  if (any_requires_grad(args + inputs, n - inputs)) {
    if (writes_at_last(f, args))
      throw Error(Kind::Runtime, "a leaf Variable that requires grad is being used in an in-place operation.");
    if (name == "empty" || name == "randn") throw Error(Kind::Runtime, "cannot resize variables that require grad");
  }
  throw Error(Kind::Runtime, name_for_gradients(f, args) +
                                 "(): functions with out=... arguments don't support automatic differentiation, but "
                                 "one of the arguments requires grad.");
}

}  // namespace

PyObject* run_out(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  const size_t inputs = f.schema.args.size(), outs = n - inputs;
  if (GradMode::enabled() && any_requires_grad(args, n) && !f.traits->never_differentiable)
    refuse_gradients(f, args, inputs, n);
  if (__builtin_expect(forward_gradients(), 0))
    CHECK(Kind::NotImplemented, !any_tangent(args, n), "Trying to use forward AD with ", f.schema.name,
        "_out that does not support it because it is an out= function");
  if (__builtin_expect(python_dispatch, 0) && wants_dispatch(args, n)) return call_torch_dispatch(op, args, n);
  for (size_t i = inputs; i < n; ++i)
    if (is_tensor(args[i]) && unwrap(args[i])->is_inference) check_inplace(Tensor(unwrap(args[i])));
  NoGrad off;
  check_same_device(f, args, inputs);
  if (outs == 1) dtype_of_out(f, args, inputs, args[inputs]);
  for (size_t i = inputs; i < n; ++i)
    if (is_tensor(args[i]) && f.traits->overlap != OutOverlap::unchecked)
      check_overlap(*unwrap(args[i]), f, args, inputs);
  if (op.native && outs == 1 &&
      is_tensor(args[inputs])) {  // it writes to out itself, where out is as the result would be
    PyObject* r = op.native(op, args, n);
    if (r) ++op.calls_native, unwrap(r)->bump_version();
    if (r || PyErr_Occurred()) return r;
  }
  OwnedRef result{run_functional(f, args, inputs)};
  if (!result.o) return nullptr;
  if (outs == 1 && f.schema.returns[0].type.list) return store_list(args[inputs], result.o, f);
  if (outs == 1) {
    // The absolute values of complex numbers go into any out that takes real ones.
    const bool of_complex = f.schema.name == "abs" && is_tensor(args[0]) && is_complex(unwrap(args[0])->dtype());
    store_output(args[inputs], result.o, f, "out", resized_by(f), of_complex);
    return Py_NewRef(args[inputs]);
  }
  CHECK(Kind::Type,
      (PyTuple_Check(result.o) || PyList_Check(result.o)) && size_t(PySequence_Fast_GET_SIZE(result.o)) == outs,
      op.schema.qualified(), ": expected ", outs, " results");
  PyObject* tuple = PyTuple_New(Py_ssize_t(outs));
  for (size_t i = 0; tuple && i < outs; ++i) {
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[inputs + i]));
    store_output(args[inputs + i], PySequence_Fast_GET_ITEM(result.o, i), f, op.schema.args[inputs + i].name);
  }
  return tuple;
}

}  // namespace shim
