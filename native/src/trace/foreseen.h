#pragma once
// Which node a call is; and nodes of calls that did not run: what an operator gives is asked of it with tensors that have no memory.
#include "trace/arguments.h"

namespace shim::trace {

// The node behind the one that the session is at, whose call this is; null: none.
TreeNode* known(Session&, Operator&, const Value* args, size_t n, bool wants_gradient, Given&);

struct Foreseen {
  TreeNode* node = nullptr;  // null: the call runs at once
  std::shared_ptr<TreeNode> held;
};
// Whether it is worth to ask: a node's call may differ in sizes alone, which it then stands for. A backend of the user's is to see the
// first call too, so there each new operator becomes a node.
bool may_foresee(Session&, const Operator&);
// Of a call that gives `produced`.
Foreseen foresee(
    Session&, Operator&, const Value* args, size_t n, const Produced& produced, bool wants_gradient, Given&);

// Tensors without memory in the place of those that are given.
class StandIns {
 public:
  Tensor of(const TensorImpl&);
  bool any() const { return !made_.empty(); }
  Device device() const { return device_ ? *device_ : Device{}; }
  bool set_device(Device d);  // that an argument names; false: the tensors are elsewhere
  // The operator's results where they will have memory; none: one of them lies in an argument's.
  std::optional<std::vector<Tensor>> with_memory(const std::vector<Tensor>& results) const;

 private:
  std::vector<Tensor> made_;
  std::optional<Device> device_;
};
constexpr Device kWithoutMemory{DeviceType::meta};

}  // namespace shim::trace
