#include "autograd/autocast.h"

#include <map>
#include <utility>

namespace shim {
namespace {

thread_local AutocastMode mode;

// The casts of weights to the lower dtype within the outermost region, so that layers that share a weight share its cast and
// that cast's node. Each holds its weight: an address stays that of one tensor.
struct Cast {
  Tensor of, cast;
};
using Casts = std::map<std::pair<const TensorImpl*, DType>, Cast>;
thread_local Casts* casts = nullptr;  // a pointer: a thread may end without the interpreter's lock

bool is_weight(const Tensor& t) {  // a leaf in float32 that wants a gradient, and no view
  if (t->dtype() != DType::f32 || !t->requires_grad() || !is_plain(t)) return false;
  const AutogradMeta* m = t->autograd();
  return m && !m->grad_fn && !m->base;
}

// What a policy is on a device.
CastPolicy policy_on(DeviceType device, CastPolicy policy) {
  const bool cpu = device == DeviceType::cpu;
  switch (policy) {
    case CastPolicy::float32_cpu: return cpu ? CastPolicy::float32 : CastPolicy::none;
    case CastPolicy::float32_cuda: return cpu ? CastPolicy::none : CastPolicy::float32;
    case CastPolicy::lower_precision_cpu: return cpu ? CastPolicy::lower_precision : CastPolicy::none;
    case CastPolicy::lower_precision_cuda: return cpu ? CastPolicy::none : CastPolicy::lower_precision;
    case CastPolicy::promote_cuda: return cpu ? CastPolicy::none : CastPolicy::promote;
    case CastPolicy::float32_cpu_promote_cuda: return cpu ? CastPolicy::float32 : CastPolicy::promote;
    case CastPolicy::off_cpu_promote_cuda: return cpu ? CastPolicy::off : CastPolicy::promote;
    default: return policy;
  }
}

bool low(DType t) { return t == DType::f16 || t == DType::bf16; }

}  // namespace

AutocastMode& autocast_mode() { return mode; }
AutocastState& autocast_state(DeviceType t) { return t == DeviceType::cuda ? mode.cuda : mode.cpu; }
bool any_autocast() { return mode.cpu.enabled || mode.cuda.enabled; }

void clear_autocast_cache() { delete std::exchange(casts, nullptr); }

Autocasting::Autocasting(const Operator& op, const TensorImpl& first, bool keeps)
    : type_(first.device().type),
      policy_(policy_on(type_, op.traits->autocast)),
      keeps_(keeps && mode.cache && mode.nesting > 0) {
  if (op.inplace || op.out || (type_ != DeviceType::cpu && type_ != DeviceType::cuda)) return;
  const AutocastState now = autocast_state(type_);
  if (!now.enabled || policy_ == CastPolicy::none) return;
  state_ = now;
  if (policy_ == CastPolicy::lower_precision || promotes()) target_ = now.dtype;
  if (policy_ == CastPolicy::float16) target_ = DType::f16;
  autocast_state(type_).enabled = false;
}

bool Autocasting::castable(const TensorImpl& t) const {
  return policy_ != CastPolicy::off && t.device().type == type_ && is_floating(t.dtype()) && t.dtype() != DType::f64 &&
         t.itemsize() > 1;
}

bool Autocasting::leaves_alone(const TensorImpl& t) const {
  const bool raises = policy_ != CastPolicy::lower_precision && policy_ != CastPolicy::float16 && !promotes();
  return raises && t.dtype() != state_.dtype && !low(t.dtype());
}

Tensor Autocasting::cast(const Tensor& t) const {
  if (!castable(*t) || t->dtype() == target_) return t;
  const bool kept = keeps_ && target_ == state_.dtype && target_ != DType::f32 && is_weight(t);
  const std::pair<const TensorImpl*, DType> key{t.get(), target_};
  if (kept && casts)
    if (auto it = casts->find(key); it != casts->end()) return it->second.cast;
  Tensor made = engine_ops().cast(t, target_);
  if (!kept || !GradMode::enabled()) return made;  // one without history would serve later calls that want it
  if (!casts) casts = new Casts();
  casts->insert_or_assign(key, Cast{t, made});
  return made;
}

}  // namespace shim
