// out=: derived from the functional operator, whose results go into the tensors that the caller gave.
#include <algorithm>
#include <span>

#include "autograd/attributes.h"
#include "dispatch/call.h"
#include "dispatch/handlers.h"
#include "ops/out_dtype.h"
#include "ops/output.h"

namespace shim {
namespace {

// A function of others that copies into its out.
bool writes_at_last(const Operator& f, const Value* args) {
  const std::string& name = f.schema.name;
  const auto number = [](const Value& v) { return v.is_tensor() && v.t->dim() == 0; };
  if (name == "inner") return !number(args[0]) && !number(args[1]);
  if (name == "linalg_matrix_power" || name == "diff")
    return (args[1].tag == Value::integer || args[1].tag == Value::boolean) && args[1].i == 0;
  return f.traits->writes_out_last;
}

// Who says that out= has no gradient.
std::string name_for_gradients(const Operator& f, const Value* args) {
  if (f.schema.name == "diag")
    return args[0].is_tensor() && args[0].t->dim() == 1 ? "aten::diag_embed" : "aten::diagonal_copy";
  if (f.traits->out_error_name) return f.traits->out_error_name;
  return f.alias_of ? f.alias_of : f.schema.name;
}

void dtype_of_sum(const Operator& f, Value* args, size_t inputs, DType has) {
  const bool whole =
      inputs && args[0].is_tensor() && !is_floating(args[0].t->dtype()) && !is_complex(args[0].t->dtype());
  const std::string own =
      whole && f.schema.name == "nansum" ? "sum" : f.schema.name;  // integers have no NaN: PyTorch calls sum
  for (size_t i = 0; i < inputs; ++i) {
    if (f.schema.args[i].name != "dtype") continue;
    const bool given = args[i].tag == Value::dtype;
    if (given || own == "mean")
      check_sum_dtype(f, own, args[0].is_tensor() && !given ? args[0].t->dtype() : DType(args[i].i), has, given);
    else if (own == "nansum" && !is_floating(has) && args[0].t->numel())
      throw Error(Kind::NotImplemented, std::string("\"nansum_cpu\" not implemented for '") + scalar_name(has) + "'");
    else if (args[i].tag == Value::none)
      args[i] = {Value::dtype, int64_t(has)};  // they add up in the dtype of out
  }
}

// A factory's dtype and device are those of out, a sum adds up in its dtype.
void dtype_of_out(const Operator& f, Value* args, size_t inputs, const Value& out) {
  if (!out.is_tensor()) return;
  const DType wanted = out.t->dtype();
  if (f.traits->sums_in_out_dtype) return dtype_of_sum(f, args, inputs, wanted);
  if (!f.traits->any_out_shape)
    for (size_t i = 0; i < inputs; ++i)
      if (args[i].is_tensor()) return;  // ends of ranges may be tensors
  for (size_t i = 0; i < inputs; ++i) {
    const std::string& name = f.schema.args[i].name;
    Value& v = args[i];
    if (name == "layout")
      CHECK(Kind::Runtime, v.tag == Value::none || v.tag != Value::layout || v.i <= 0,
          "layout Sparse does not match layout of out parameter (Strided)");
    if (name == "device" && v.tag == Value::none) {
      v = Value(out.t->device());
    } else if (name == "device" && v.tag == Value::device) {
      const Device given = v.where, has = out.t->device();
      CHECK(Kind::Runtime, given.type == has.type, "device type ", device_type_name(given.type),
          " does not match device type of out parameter (", device_type_name(has.type), ")");
    }
    if (name != "dtype") continue;
    if (v.tag == Value::none)
      v = {Value::dtype, int64_t(wanted)};
    else if (v.tag == Value::dtype)
      CHECK(Kind::Runtime, DType(v.i) == wanted, "dtype ", scalar_name(DType(v.i)),
          " does not match dtype of out parameter (", scalar_name(wanted), ")");
  }
}

void store(const Value& out, const Answer& result, const Operator& f, const std::string& argument,
    OutResize how = OutResize::warned, bool any_dtype = false) {
  const bool tensor = (result.kind == Answer::tensor || result.kind == Answer::argument) && result.t;
  CHECK(Kind::Type, out.is_tensor() && tensor, "out= takes tensors");
  store_output(Tensor(out.t), Tensor(result.t), f, argument, how, any_dtype);
}

// What is read cannot be resized to be written.
void check_written_input(const Operator& f, const Value* args, size_t inputs, const TensorImpl* result) {
  const Value& out = args[inputs];
  if (!f.pointwise || !out.is_tensor() || !result || std::ranges::equal(out.t->sizes(), result->sizes())) return;
  for (const Value& v : std::span(args, inputs))
    CHECK(Kind::Runtime, !v.is_tensor() || v.t != out.t, "output with shape ", bracketed(out.t->sizes()),
        " doesn't match the broadcast shape ", bracketed(result->sizes()));
}

// A list of results into a list of tensors; PyTorch's functions of that kind return nothing.
void store_list(const Value& outs, const Answer& results, const Operator& f) {
  CHECK(Kind::Runtime, int64_t(outs.size) == results.i, f.schema.name, "_out() expected an out= argument of size ",
      results.i, ", got size ", outs.size);
  for (uint32_t i = 0; i < outs.size; ++i) store(outs.items[i], results.parts[i], f, "out");
}

bool any_leaf(const Value* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return t.requires_grad() && is_leaf(t); });
}

// Functions that PyTorch makes a fallback's node for: their out has a history that ends in an error.
bool has_fallback(const Operator& f, const Value* args) { return name_for_gradients(f, args).starts_with("aten::"); }

// PyTorch's error where out= or an input asks for a gradient: a function made of others fails where it writes.
[[noreturn]] void refuse_gradients(const Operator& f, const Value* args, size_t inputs, size_t n) {
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
bool copied_in_trace(const Value& out, const TensorImpl* result) {
  if (!tracing || !out.is_tensor() || !result) return false;
  const TensorImpl& to = *out.t;
  if (to.dtype() != result->dtype() || to.device() != result->device() ||
      !std::ranges::equal(to.sizes(), result->sizes()))
    return false;
  copy_by_operator(Tensor(out.t), Tensor(const_cast<TensorImpl*>(result)));
  return true;
}

void run_out_without_derivative(Operator& op, Value* args, size_t n, Result& r) {
  const Tensor out(args[n - 1].t);
  {
    NoGrad off;
    run_out(op, args, n, r);
  }
  forbid_derivative(out, name_for_gradients(*op.functional, args), args, n);
}

// What is written last is a copy, which has a gradient.
void copy_to_out(Operator& op, Value* args, size_t n, Result& r) {
  Result result;
  run_functional(*op.functional, args, n - 1, result);
  {
    NoGrad off;
    run_out(op, args, n, r);
  }
  CHECK(Kind::Type, result.tensor(), "out= takes tensors");
  copy_by_operator(Tensor(args[n - 1].t), Tensor(result.tensor()));
}

// Of a kernel that writes to out itself, where out is as the result would be. It would not see math bits.
bool written_by_kernel(Operator& op, const Value* args, size_t n, Result& r) {
  if (!op.native || (any_math_bits(args, n) && !op.traits->reads_math_bits)) return false;
  op.native(op, args, r.answer);
  if (r.answer.kind == Answer::declined) return false;
  ++op.calls_native;
  if (r.tensor()) r.tensor()->bump_version();
  return true;
}

void store_all(const Operator& op, const Value* outs, size_t n, const Result& result, Result& r) {
  CHECK(Kind::Type, result.is_sequence() && size_t(result.answer.i) == n, op.schema.qualified(), ": expected ", n,
      " results");
  r.answer.make_room(n);
  r.answer.kind = Answer::tuple;
  const size_t first = op.schema.args.size() - n;
  for (size_t i = 0; i < n; ++i) {
    store(outs[i], result.answer.parts[i], *op.functional, op.schema.args[first + i].name);
    r.answer.parts[i].kind = Answer::argument;
    r.answer.parts[i].t = outs[i].t;
  }
}

}  // namespace

void run_out(Operator& op, Value* args, size_t n, Result& r) {
  Operator& f = *op.functional;
  const size_t inputs = f.schema.args.size(), outs = n - inputs;
  Value* const out = args + inputs;
  if (wants_history(args, n) && !f.traits->never_differentiable) {
    const bool single = outs == 1 && out->is_tensor() && !any_leaf(out, outs);
    if (single && has_fallback(f, args)) return run_out_without_derivative(op, args, n, r);
    if (single && writes_at_last(f, args)) return copy_to_out(op, args, n, r);
    refuse_gradients(f, args, inputs, n);
  }
  if (__builtin_expect(forward_gradients(), 0))
    CHECK(Kind::NotImplemented, !any_tangent(args, n), "Trying to use forward AD with ", f.schema.name,
        "_out that does not support it because it is an out= function");
  if (__builtin_expect(python_dispatch, 0) && wants_dispatch(args, n)) return call_handlers(op, args, n, r);
  for (const Value& v : std::span(out, outs))
    if (v.is_tensor() && v.t->is_inference) check_inplace(Tensor(v.t));
  NoGrad off;
  check_same_device(f, args, inputs);
  if (outs == 1) dtype_of_out(f, args, inputs, *out);
  for (const Value& v : std::span(out, outs))
    if (v.is_tensor() && f.traits->overlap != OutOverlap::unchecked) check_overlaps(*v.t, f, args, inputs);
  const bool traced = __builtin_expect(tracing, 0) && outs == 1;
  if (__builtin_expect(tracing, 0) && !traced) traced_calls.before_untraced(args, n);
  if (outs == 1 && !traced && out->is_tensor() && written_by_kernel(op, args, n, r)) return;
  Result result;
  try {
    run_functional(f, args, inputs, result);
  } catch (...) {
    if (outs == 1 && out->is_tensor()) check_before_kernel(f, args, inputs, *out->t, false);
    throw;
  }
  if (outs == 1 && out->is_tensor()) r.give_argument(out->t);
  if (traced && copied_in_trace(*out, result.tensor())) return;
  if (__builtin_expect(tracing, 0)) {
    traced_calls.before_untraced(args, n);
    ValueRoom room;
    const Value given = value_of(result.answer, room);
    traced_calls.before_untraced(&given, 1);
  }
  if (outs == 1 && f.schema.returns[0].type.list) {
    store_list(*out, result.answer, f);
    return r.give({});
  }
  if (outs != 1) return store_all(op, out, outs, result, r);
  check_written_input(f, args, inputs, result.tensor());
  // The absolute values of complex numbers go into any out that takes real ones.
  const bool of_complex = f.schema.name == "abs" && args[0].is_tensor() && is_complex(args[0].t->dtype());
  store(*out, result.answer, f, "out", resized_by(f), of_complex);
}

}  // namespace shim
