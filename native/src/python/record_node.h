#pragma once

// How a node of an operator (autograd/operator_node.h) saves Python's objects, and calls the formulas with them.
#include <string>
#include <vector>

#include "autograd/operator_node.h"
#include "python/dispatch.h"

namespace shim {

class RecordNode final : public OperatorNode, public Recycled<RecordNode> {
 public:
  using OperatorNode::OperatorNode;
  Grads apply(Grads&& grads) override;
  void release_saved() override;
  std::string text_of(const SavedValue&) const override;
  bool read_object(const SavedValue&, GraphReader&) const override;

  PyObject* saved(const std::string& what);  // a new reference; null without an error if there is none

 private:
  PyObject* unpack(SavedValue& v);

  PyObject* gradient(int index, Grads& grads);
  PyObject* wanted_of(const PlannedFormula& f) const;  // a tuple of bools, one an input of the formula
  void call(const PlannedFormula& f, Grads& grads, Grads& out);
  void take(int argument, PyObject* r, Grads& out);
};

}  // namespace shim
