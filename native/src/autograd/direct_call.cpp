#include "autograd/direct_call.h"

#include "autograd/autocast.h"
#include "autograd/operator_node.h"
#include "autograd/profile.h"
#include "autograd/recording.h"
#include "core/lazy_clone.h"
#include "ops/overlap.h"
#include "ops/same_device.h"

namespace shim {
namespace {

bool kernel_alone(const Operator& op, const Value* args, size_t n) {
  if ((!op.native && !op.native_cpu) || op.out || op.overridden || op.number_kernels) return false;
  if (profile::on || operators_are_traced || lazy_clones || gradient_transforms || forward_gradients()) return false;
  if (op.traits->autocast != CastPolicy::none && any_autocast()) return false;
  const bool records = GradMode::enabled();
  return !any_tensor(args, n, [=](TensorImpl& t) { return t.has_math_bits() || (records && t.requires_grad()); });
}

void check_devices(const Operator& op, const Value* args, size_t n) {
  SameDevice all(op);
  for (const Value& v : std::span(args, n)) {
    if (v.tag == Value::tensor) {
      all.see(*v.t);
    } else if (v.tag == Value::list) {
      SameDeviceOfParts parts(op);
      any_tensor(&v, 1, [&](TensorImpl& t) { return parts.see(t), false; });
    }
  }
}

bool run_kernel(Operator& op, const Value* args, Answer& answer) {
  for (KernelCall kernel : {op.native_cpu, op.native})
    if (kernel && (kernel(op, args, answer), answer.kind != Answer::declined)) return ++op.calls_native, true;
  return false;
}

void tie_views(const Answer& a, const TensorImpl* base, bool several = false) {
  if (a.kind == Answer::tensor && a.t && a.t != base)
    mark_view(Tensor(a.t), Tensor(const_cast<TensorImpl*>(base)), several);
  if (a.kind == Answer::tuple || a.kind == Answer::list)
    for (const Answer& part : std::span(a.parts, size_t(a.i))) tie_views(part, base, true);
}

bool write_directly(Operator& op, const Value* args, size_t n, Answer& answer) {
  const Operator& f = *op.functional;
  TensorImpl* target = args[0].tag == Value::tensor ? args[0].t : nullptr;
  if (!target || target->is_inference || f.kind == Operator::Composite) return false;
  if (is_complex(target->dtype()) && f.schema.name == "abs") return false;  // refused
  check_own_places(*target, f);
  any_tensor(args + 1, n - 1, [&](TensorImpl& read) { return check_overlap(*target, read, f), false; });
  check_devices(op, args, n);
  if (!run_kernel(op, args, answer)) return false;
  if (answer.kind == Answer::tensor) answer.take_tensor();
  target->bump_version();
  answer.kind = Answer::argument;
  answer.t = target;
  return true;
}

}  // namespace

bool call_directly(Operator& op, const Value* args, size_t n, Answer& answer) {
  if (!kernel_alone(op, args, n)) return false;
  if (op.inplace) return write_directly(op, args, n, answer);
  if (op.kind == Operator::Kernel) check_devices(op, args, n);
  if (!run_kernel(op, args, answer)) return false;
  if (op.kind == Operator::View && n > 0 && args[0].tag == Value::tensor) tie_views(answer, args[0].t);
  if (op.kind == Operator::Composite && op.factory && answer.kind == Answer::tensor && answer.t)
    answer.t->storage()->version() = 0;  // filling new memory is no change
  return true;
}

}  // namespace shim
