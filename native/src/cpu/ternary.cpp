// where and clamp over the kernels' tables.
#include <limits>

#include "cpu/pointwise.h"
#include "cpu/pointwise_arguments.h"
#include "ops/cuda_kernels.h"

namespace shim {

Tensor run_where(const Tensor& condition, const TensorOrScalar& a, const TensorOrScalar& b) {
  if (condition->dtype() != DType::b8 || !takes(*condition)) return {};
  if ((a.tensor && !takes(*a.tensor)) || (b.tensor && !takes(*b.tensor))) return {};
  const DType common = common_dtype(a, b), in = compute_dtype(common);
  for (const TensorOrScalar* i : {&a, &b})
    if (!i->tensor) check_fits(i->number, common);
  const BlockKernel kernel = where_op().at(in);
  if (!kernel) return {};
  Dims shape(condition->sizes().begin(), condition->sizes().end());
  for (const TensorOrScalar* i : {&a, &b})
    if (i->tensor) shape = broadcast_shapes(shape, i->tensor->sizes());
  const TensorImpl* like[3] = {condition.get(), a.tensor, b.tensor};
  Device where;
  if (!device_of_all({a.tensor, b.tensor, condition.get()}, &where) || !(condition->device() == where)) return {};
  Tensor out = allocate_like(shape, like, 3, common, where);
  if (where.is_cpu()) {
    alignas(16) char numbers[2][16] = {};
    Operand operands[4] = {Operand::of(*out), Operand::of(*condition)};
    for (int k = 0; k < 2; ++k) {
      const TensorOrScalar& i = k ? b : a;
      if (!i.tensor) store_number(numbers[k], common, i.number);
      operands[2 + k] = i.tensor ? Operand::of(*i.tensor) : Operand{numbers[k], common, {}, {}};
    }
    if (!out->numel() || select(shape, operands)) return out;
  }
  Args args;
  args.operands[0] = Operand::of(*out);
  args.tensor(*condition, out, in);
  for (const TensorOrScalar* i : {&a, &b}) i->tensor ? args.tensor(*i->tensor, out, in) : args.number(i->number, in);
  return run("where", shape, out, args, in, in, kernel) ? out : Tensor{};
}

Tensor run_clamp(const Tensor& self, const Scalar* least, const Scalar* most) {
  if (!takes(*self)) return {};
  Promotion p;
  p.add(*self);
  for (const Scalar* n : {least, most}) {
    if (!n) continue;
    if (n->type == Scalar::Complex || (n->type == Scalar::Float && n->f != n->f)) return {};
    p.add(*n);
  }
  const DType common = p.result(), in = compute_dtype(common);
  for (const Scalar* bound : {least, most})
    if (bound) check_fits(*bound, common);
  const BlockKernel kernel = clamp_op().at(in);
  if (!kernel || (is_integral(in) && (!least || !most))) return {};
  const TensorImpl* like = self.get();
  Tensor out = allocate_like(self->sizes(), &like, 1, common, self->device());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Args args;
  args.operands[0] = Operand::of(*out);
  args.tensor(*self, out, in);
  args.number(least ? rounded(*least, common) : Scalar{Scalar::Float, 0, -kInfinity}, in);
  args.number(most ? rounded(*most, common) : Scalar{Scalar::Float, 0, kInfinity}, in);
  return run("clamp", out->sizes(), out, args, in, in, kernel) ? out : Tensor{};
}

}  // namespace shim
