// What the core asks of operators: kernels, or calls of the operators, which record history and are seen by handlers.
#include "dispatch/engine_ops.h"

#include "autograd/operator_node.h"
#include "core/interpreter_lock.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "dispatch/call.h"
#include "ops/kernels.h"

namespace shim {

namespace {

// A call with these arguments, and None for the others.
class EngineCall {
 public:
  template <class... A> explicit EngineCall(Operator& op, const A&... args) : op_(op) { (put(args), ...); }
  Tensor result() {
    const Locked lock;
    return call_for_tensor(op_, args_, op_.schema.args.size());
  }

 private:
  void put(const Tensor& t) { args_[n_++] = tensor_value(t); }
  void put(bool b) { args_[n_++] = {Value::boolean, b}; }
  void put(int64_t i) { args_[n_++] = {Value::integer, i}; }
  void put(DType d) { args_[n_++] = {Value::dtype, int64_t(d)}; }
  void put(IntArrayRef dims) {
    Value* items = room_.take(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) items[i] = {Value::integer, dims[i]};
    args_[n_++] = {Value::list, uint32_t(dims.size()), items};
  }

  Operator& op_;
  Value args_[8];
  size_t n_ = 0;
  ValueRoom room_;
};

// A kernel reads the memory, which sparse tensors and what a class holds do not have, and no handler sees it.
bool readable(const Tensor& t) {
  return has_data(*t) && !is_sparse(*t) && !(SubclassOps::watched && SubclassOps::watched(t));
}
bool by_kernel(const Tensor& t) { return !GradMode::enabled() && !operators_are_traced && readable(t); }

Tensor engine_add(const Tensor& a, const Tensor& b) {
  if (by_kernel(a) && readable(b))
    if (Tensor r = add(resolved(a), resolved(b), Scalar{Scalar::Int, 1})) return r;
  static Operator& op = operator_named("aten::add", "Tensor");
  return EngineCall(op, a, b, int64_t(1)).result();
}

void engine_add_in_place(const Tensor& a, const Tensor& b) {
  if (by_kernel(a) && readable(b) && !a->has_math_bits() && add(a, resolved(b), Scalar{Scalar::Int, 1}, a))
    return a->bump_version();
  static Operator& op = operator_named("aten::add_", "Tensor");
  EngineCall(op, a, b, int64_t(1)).result();
}

Tensor engine_sum_to(const Tensor& t, IntArrayRef sizes) {
  if (by_kernel(t))
    if (Tensor r = sum_to_size(resolved(t), sizes)) return r;
  static Operator& op = operator_named("aten::sum_to_size");
  return EngineCall(op, t, sizes).result();
}

Tensor engine_cast(const Tensor& t, DType dtype) {
  if (by_kernel(t)) return to_dtype(t, dtype);
  static Operator& op = operator_named("aten::to", "dtype");
  return EngineCall(op, t, dtype, false, false).result();
}

Tensor engine_clone(const Tensor& t) { return by_kernel(t) ? clone(t) : clone_by_operator(t); }

Tensor engine_zeros(IntArrayRef sizes, DType dtype, Device device) {
  Tensor t = empty(sizes, dtype, device);
  fill_(t, Scalar{Scalar::Int, 0});
  return t;
}

Tensor engine_new_zeros(const Tensor& like, IntArrayRef sizes) {
  static Operator& op = operator_named("aten::new_zeros");
  return EngineCall(op, like, sizes).result();
}

Tensor engine_zeros_as(const Tensor& like, IntArrayRef sizes, IntArrayRef strides) {
  static Operator &make = operator_named("aten::new_empty_strided"), &zero = operator_named("aten::zero_");
  return EngineCall(zero, EngineCall(make, like, sizes, strides).result()).result();
}

void engine_copy(const Tensor& self, const Tensor& src) {
  if (!by_kernel(self) || !readable(src)) return copy_by_operator(self, src);
  copy_(self, src);
  self->bump_version();
}

Tensor engine_as_strided(const Tensor& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  if (!GradMode::enabled() && has_data(*t)) return as_strided(*t, sizes, strides, offset);
  static Operator& op = operator_named("aten::as_strided");
  return EngineCall(op, t, sizes, strides, offset).result();
}

Tensor engine_view(const Tensor& t, const char* name) {
  return EngineCall(operator_named(str("aten::", name)), t).result();
}

void negate_in_place(const Tensor& t) {
  NoGrad off;
  Tensor uncounted = alias(*t);
  uncounted->own_version() = std::make_shared<std::atomic<uint32_t>>(0);  // part of a write that is counted once
  static Operator& op = operator_named("aten::neg_");
  EngineCall(op, uncounted).result();
}

}  // namespace

void copy_by_operator(const Tensor& self, const Tensor& src) {
  static Operator& op = operator_named("aten::copy_");
  EngineCall(op, self, src, false).result();
}

Tensor clone_by_operator(const Tensor& t) {
  static Operator& op = operator_named("aten::clone");
  return EngineCall(op, t).result();
}

Tensor view_by_operator(const Tensor& t) {
  static Operator& op = operator_named("aten::view_as");
  return EngineCall(op, t, t).result();
}

void install_engine_ops() {
  engine_ops() = {.add = engine_add,
      .add_ = engine_add_in_place,
      .sum_to = engine_sum_to,
      .cast = engine_cast,
      .clone = engine_clone,
      .zeros = engine_zeros,
      .new_zeros = engine_new_zeros,
      .zeros_as = engine_zeros_as,
      .copy_ = engine_copy,
      .as_strided = engine_as_strided,
      .view_operator = engine_view};
  negate_with_operator = negate_in_place;
}

}  // namespace shim
