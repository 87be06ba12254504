#pragma once
// How a node of an operator calls the formulas of its record, functions of the interpreter, with what it saved.
#include <vector>

#include "autograd/operator_node.h"

namespace shim {

// Saved values as they are given to the interpreter; kept for as long as this lives.
class Unpacked {
 public:
  explicit Unpacked(Node& owner) : owner_(&owner) {}
  Unpacked(const Unpacked&) = delete;
  ~Unpacked();
  Value of(SavedValue&);
  Value of(Tensor);  // null: None
  ValueRoom room;

 private:
  Value object_of(const SavedValue&);
  Ref<Node> owner_;
  std::vector<Tensor> tensors_;
  std::vector<void*> objects_;
};

class RecordNode final : public OperatorNode, public Recycled<RecordNode> {
 public:
  using OperatorNode::OperatorNode;
  Grads apply(Grads&& grads) override;

 private:
  Value gradient(int index, Grads& grads, Unpacked&);
  void call(const PlannedFormula& f, Grads& grads, Grads& out);
  void take(int argument, const Value& given, Grads& out);
};

}  // namespace shim
