#pragma once
// torch.autocast: of each thread, and what it casts a call's tensors to.
#include "autograd/autograd.h"
#include "ops/operator.h"

namespace shim {

struct AutocastState {
  bool enabled = false;
  DType dtype = DType::bf16;
};
struct AutocastMode {
  AutocastState cpu{false, DType::bf16}, cuda{false, DType::f16};
  int nesting = 0;    // of `with torch.autocast(...)`
  bool cache = true;  // casts of weights are kept within the outermost one
};
AutocastMode& autocast_mode();
struct WithoutAutocast {
  AutocastMode was = autocast_mode();
  WithoutAutocast() { autocast_mode().cpu.enabled = autocast_mode().cuda.enabled = false; }
  WithoutAutocast(const WithoutAutocast&) = delete;
  ~WithoutAutocast() {
    autocast_mode().cpu.enabled = was.cpu.enabled;
    autocast_mode().cuda.enabled = was.cuda.enabled;
  }
};
AutocastState& autocast_state(DeviceType);
bool any_autocast();
void clear_autocast_cache();

// One call under autocast, which is off while its tensors are cast and while it runs: what it is made of is not cast again.
class Autocasting {
 public:
  // `first`: the call's first tensor. `keeps`: casts of weights may be kept: nobody looks on.
  Autocasting(const Operator&, const TensorImpl& first, bool keeps);
  ~Autocasting() {
    if (state_.enabled) autocast_state(type_).enabled = true;
  }
  explicit operator bool() const { return state_.enabled; }
  bool castable(const TensorImpl&) const;
  // Tensors that promote together: the cast goes to float32 where one of them is in it.
  bool promotes() const { return policy_ == CastPolicy::promote; }
  void widen() { target_ = DType::f32; }
  Tensor cast(const Tensor&) const;            // itself where nothing is to be cast
  bool leaves_alone(const TensorImpl&) const;  // a whole argument that a cast to float32 does not touch

 private:
  DeviceType type_;
  CastPolicy policy_;
  AutocastState state_;
  DType target_ = DType::f32;
  bool keeps_;
};

}  // namespace shim
