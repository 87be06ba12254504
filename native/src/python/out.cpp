// out=: derived from the functional operator, whose results go into the tensors that the caller gave.
#include <algorithm>

#include "autograd/attributes.h"
#include "ops/out_dtype.h"
#include "ops/output.h"
#include "python/dispatch.h"
#include "python/forward_mode.h"
#include "python/lacking_kernel.h"
#include "python/owned_ref.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"
#include "python/trace.h"
#include "python/values.h"

namespace shim {
namespace {

// A function of others that copies into its out.
bool writes_at_last(const Operator& f, PyObject* const* args) {
  const std::string& name = f.schema.name;
  const auto number = [&](size_t i) { return is_tensor(args[i]) && unwrap(args[i])->dim() == 0; };
  if (name == "inner") return !number(0) && !number(1);
  if (name == "linalg_matrix_power" || name == "diff") return PyLong_Check(args[1]) && PyLong_AsLong(args[1]) == 0;
  return f.traits->writes_out_last;
}

// Who says that out= has no gradient.
std::string name_for_gradients(const Operator& f, PyObject* const* args) {
  if (f.schema.name == "diag")
    return is_tensor(args[0]) && unwrap(args[0])->dim() == 1 ? "aten::diag_embed" : "aten::diagonal_copy";
  if (f.traits->out_error_name) return f.traits->out_error_name;
  return f.alias_of ? f.alias_of : f.schema.name;
}

// A factory's dtype and device are those of out, a sum adds up in its dtype.
void dtype_of_out(const Operator& f, PyObject** args, size_t inputs, PyObject* out) {
  if (!is_tensor(out)) return;
  const bool whole =
      inputs && is_tensor(args[0]) && !is_floating(unwrap(args[0])->dtype()) && !is_complex(unwrap(args[0])->dtype());
  const std::string own =
      whole && f.schema.name == "nansum" ? "sum" : f.schema.name;  // integers have no NaN: PyTorch calls sum
  if (f.traits->sums_in_out_dtype) {
    const DType has = unwrap(out)->dtype();
    for (size_t i = 0; i < inputs; ++i) {
      if (f.schema.args[i].name != "dtype") continue;
      const bool given = is_dtype(args[i]);
      if (given || own == "mean")
        check_sum_dtype(
            f, own, is_tensor(args[0]) && !given ? unwrap(args[0])->dtype() : dtype_of(args[i]), has, given);
      else if (own == "nansum" && !is_floating(has) && unwrap(args[0])->numel())
        throw Error(Kind::NotImplemented, std::string("\"nansum_cpu\" not implemented for '") + scalar_name(has) + "'");
      else if (args[i] == Py_None)
        args[i] = dtype_object(has);  // they add up in the dtype of out
    }
    return;
  }
  for (size_t i = 0; i < inputs; ++i)
    if (is_tensor(args[i]) && !f.traits->any_out_shape) return;  // ends of ranges may be tensors
  for (size_t i = 0; i < inputs; ++i) {
    const std::string& name = f.schema.args[i].name;
    if (name == "layout")
      CHECK(Kind::Runtime, args[i] == Py_None || layout_of(args[i]) <= 0,
          "layout Sparse does not match layout of out parameter (Strided)");
    if (name == "device" && args[i] == Py_None) {
      args[i] = device_object(unwrap(out)->device());  // the caller owns its arguments
      if (!args[i]) throw PythonError();
    } else if (name == "device" && is_device(args[i])) {
      const Device given = device_of(args[i]), has = unwrap(out)->device();
      CHECK(Kind::Runtime, given.type == has.type, "device type ", device_type_name(given.type),
          " does not match device type of out parameter (", device_type_name(has.type), ")");
    }
    if (name != "dtype") continue;
    const DType wanted = unwrap(out)->dtype();
    if (args[i] == Py_None)
      args[i] = dtype_object(wanted);  // dtype objects live for ever
    else if (is_dtype(args[i]))
      CHECK(Kind::Runtime, dtype_of(args[i]) == wanted, "dtype ", scalar_name(dtype_of(args[i])),
          " does not match dtype of out parameter (", scalar_name(wanted), ")");
  }
}

void store(PyObject* out, PyObject* result, const Operator& f, const std::string& argument,
    OutResize how = OutResize::warned, bool any_dtype = false) {
  CHECK(Kind::Type, is_tensor(out) && is_tensor(result), "out= takes tensors");
  store_output(Tensor(unwrap(out)), Tensor(unwrap(result)), f, argument, how, any_dtype);
}

// What is read cannot be resized to be written.
void check_written_input(const Operator& f, PyObject* const* args, size_t inputs, const TensorImpl& result) {
  if (!f.pointwise || !is_tensor(args[inputs])) return;
  const TensorImpl& out = *unwrap(args[inputs]);
  for (size_t i = 0; i < inputs; ++i)
    CHECK(Kind::Runtime, args[i] != args[inputs] || std::ranges::equal(out.sizes(), result.sizes()),
        "output with shape ", bracketed(out.sizes()), " doesn't match the broadcast shape ", bracketed(result.sizes()));
}

// A list of results into a list of tensors; PyTorch's functions of that kind return nothing.
PyObject* store_list(PyObject* outs, PyObject* results, const Operator& f) {
  const Py_ssize_t given = PySequence_Fast_GET_SIZE(outs), n = PySequence_Fast_GET_SIZE(results);
  CHECK(Kind::Runtime, given == n, f.schema.name, "_out() expected an out= argument of size ", n, ", got size ", given);
  for (Py_ssize_t i = 0; i < n; ++i)
    store(PySequence_Fast_GET_ITEM(outs, i), PySequence_Fast_GET_ITEM(results, i), f, "out");
  Py_RETURN_NONE;
}

bool any_leaf(PyObject* const* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return t.requires_grad() && is_leaf(t); });
}

// Functions that PyTorch makes a fallback's node for: their out has a history that ends in an error.
bool has_fallback(const Operator& f, PyObject* const* args) {
  return name_for_gradients(f, args).starts_with("aten::");
}

// PyTorch's error where out= or an input asks for a gradient: a function made of others fails where it writes.
[[noreturn]] void refuse_gradients(const Operator& f, PyObject** args, size_t inputs, size_t n) {
  const std::string& name = f.schema.name;
  if (any_leaf(args + inputs, n - inputs)) {
    if (writes_at_last(f, args))
      throw Error(Kind::Runtime, "a leaf Variable that requires grad is being used in an in-place operation.");
    if (name == "empty" || name == "randn") throw Error(Kind::Runtime, "cannot resize variables that require grad");
  }
  throw Error(Kind::Runtime, name_for_gradients(f, args) +
                                 "(): functions with out=... arguments don't support automatic differentiation, but "
                                 "one of the arguments requires grad.");
}

// A compiled function sees the operator, and a copy into an out that is as the result.
bool copied_in_trace(PyObject* out, PyObject* result) {
  if (!tracing || !is_tensor(out) || !is_tensor(result)) return false;
  const TensorImpl &to = *unwrap(out), &from = *unwrap(result);
  if (to.dtype() != from.dtype() || to.device() != from.device() || !std::ranges::equal(to.sizes(), from.sizes()))
    return false;
  OwnedRef done = owned(PyObject_CallMethod(out, "copy_", "O", result));
  return true;
}

PyObject* run_out_without_derivative(Operator& op, PyObject** args, size_t n) {
  const Tensor out(unwrap(args[n - 1]));
  OwnedRef written{[&] {
    NoGrad off;
    return run_out(op, args, n);
  }()};
  if (written.o) forbid_derivative(out, name_for_gradients(*op.functional, args), args, n);
  return written.o ? Py_NewRef(written.o) : nullptr;
}

// What is written last is a copy, which has a gradient.
PyObject* copy_to_out(Operator& op, PyObject** args, size_t n) {
  OwnedRef result{run_functional(*op.functional, args, n - 1)};
  OwnedRef written{result.o ? [&] {
    NoGrad off;
    return run_out(op, args, n);
  }()
                            : nullptr};
  if (!written.o) return nullptr;
  return PyObject_CallMethod(args[n - 1], "copy_", "O", result.o);
}

}  // namespace

PyObject* run_out(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  const size_t inputs = f.schema.args.size(), outs = n - inputs;
  if (GradMode::enabled() && any_requires_grad(args, n) && !f.traits->never_differentiable) {
    const bool single = outs == 1 && is_tensor(args[inputs]) && !any_leaf(args + inputs, outs);
    if (single && has_fallback(f, args)) return run_out_without_derivative(op, args, n);
    if (single && writes_at_last(f, args)) return copy_to_out(op, args, n);
    refuse_gradients(f, args, inputs, n);
  }
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
      check_overlaps(*unwrap(args[i]), f, args, inputs);
  const bool traced = __builtin_expect(tracing, 0) && outs == 1;
  if (__builtin_expect(tracing, 0) && !traced) before_untraced(args, n);
  if (op.native && outs == 1 && !traced &&
      is_tensor(args[inputs])) {  // it writes to out itself, where out is as the result would be
    PyObject* r = run_native(op.native, op, Values(args, n).data());
    if (r) ++op.calls_native, unwrap(r)->bump_version();
    if (r || PyErr_Occurred()) return r;
  }
  OwnedRef result{run_functional(f, args, inputs)};
  if (!result.o) {
    if (outs == 1 && is_tensor(args[inputs])) check_before_kernel(f, args, inputs, *unwrap(args[inputs]), false);
    return nullptr;
  }
  if (traced && copied_in_trace(args[inputs], result.o)) return Py_NewRef(args[inputs]);
  if (__builtin_expect(tracing, 0)) before_untraced(args, n), before_untraced(&result.o, 1);
  if (outs == 1 && f.schema.returns[0].type.list) return store_list(args[inputs], result.o, f);
  if (outs == 1) {
    // The absolute values of complex numbers go into any out that takes real ones.
    if (is_tensor(result.o)) check_written_input(f, args, inputs, *unwrap(result.o));
    const bool of_complex = f.schema.name == "abs" && is_tensor(args[0]) && is_complex(unwrap(args[0])->dtype());
    store(args[inputs], result.o, f, "out", resized_by(f), of_complex);
    return Py_NewRef(args[inputs]);
  }
  CHECK(Kind::Type,
      (PyTuple_Check(result.o) || PyList_Check(result.o)) && size_t(PySequence_Fast_GET_SIZE(result.o)) == outs,
      op.schema.qualified(), ": expected ", outs, " results");
  return tuple_by(outs, [&](size_t i) {
    store(args[inputs + i], PySequence_Fast_GET_ITEM(result.o, i), f, op.schema.args[inputs + i].name);
    return Py_NewRef(args[inputs + i]);
  });
}

}  // namespace shim
