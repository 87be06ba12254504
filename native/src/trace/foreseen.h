#pragma once
// Which node a call is; and nodes of calls that did not run: what an operator gives is asked of it with tensors that have no memory.
#include "dispatch/call.h"
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
// Of a call that no node is: what it gives is asked of the operator. `writes`: to its first argument.
Foreseen foreseen(Session&, Operator&, const Value* args, size_t n, bool writes, Given&);

// A first call of much memory is deferred too, so that its memory is planned: from the first operator on with tensors of that many bytes.
inline size_t foreseen_from = size_t(1) << 20;
inline int64_t set_foreseen_from(int64_t bytes) { return int64_t(std::exchange(foreseen_from, size_t(bytes))); }
// Whether an operator that is made of others may be foreseen as one: its kernel took it before, or takes nearly every call (where it
// does not, its body gives the same later), and no part of it is to record history.
bool foreseen_whole(const Session&, Operator&, const Value* args, size_t n);
// Before an operator runs at once that will be learned: what was foreseen before it is no program, for the next call has a longer one.
void end_foreseeing(Session&, Operator&, const Value* args, size_t n);

Produced produced_by(const Answer&);
// Parts of a composite record its history, so whether it is wanted decides what runs.
inline bool composite_wants_gradient(const Operator& op, const Value* args, size_t n) {
  return op.kind == Operator::Composite && wants_history(args, n);
}

// Tensors without memory in the place of those that are given.
class StandIns {
 public:
  Tensor of(const TensorImpl&);
  bool any() const { return !made_.empty(); }
  Device device() const { return device_ ? *device_ : Device{}; }
  bool set_device(Device d);  // that an argument names; false: the tensors are elsewhere
  // The operator's results where they will have memory; none: one of them lies in an argument's.
  std::optional<std::vector<Tensor>> with_memory(const std::vector<Tensor>& results) const;
  bool lent(const std::vector<Tensor>& results) const;  // one of them does

 private:
  std::vector<Tensor> made_;
  std::optional<Device> device_;
};
constexpr Device kWithoutMemory{DeviceType::meta};

}  // namespace shim::trace
