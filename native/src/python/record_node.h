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
  ~RecordNode() override { drop(); }
  Grads apply(Grads&& grads) override;
  void release_saved() override;
  std::string text_of(const SavedValue&) const override;
  bool read_object(const SavedValue&, GraphReader&) const override;

  void build(PyObject* const* args, size_t n);         // the edges, and which formulas are wanted
  void save(PyObject* const* args, PyObject* result);  // without a result: what is known before it
  PyObject* saved(const std::string& what);            // a new reference; null without an error if there is none

 private:
  SavedValue value(const ParameterSource& s, PyObject* const* args, PyObject* result);
  PyObject* unpack(SavedValue& v);
  void drop();

  PyObject* gradient(int index, Grads& grads);
  PyObject* wanted_of(const PlannedFormula& f) const;  // a tuple of bools, one an input of the formula
  void call(const PlannedFormula& f, Grads& grads, Grads& out);
  void take(int argument, PyObject* r, Grads& out);
};

}  // namespace shim
