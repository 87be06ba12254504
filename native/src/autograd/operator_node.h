#pragma once
// The node of an operator of the table: which formulas backward needs, and the values that they name.
#include <optional>
#include <string>
#include <vector>

#include "autograd/autograd.h"
#include "autograd/formula_plan.h"
#include "core/few.h"
#include "ops/value.h"

namespace shim {

struct SavedValue {  // one value that a formula names
  ParameterSource source{};
  std::vector<SavedTensor> tensors;  // one; several for a Tensor[] argument
  std::optional<Dims> dims;          // sizes or strides
  void* object = nullptr;            // anything else, of the interpreter
  std::vector<SavedValue> several;   // what was asked of each tensor of a list
  bool is_list = false, is_tensor = false;
};
inline void* (*object_to_save)(const Value&) = nullptr;  // a new reference; set by src/python

// Who is to see the calls of a backward; set by src/python, null until there can be anybody.
enum class Onlookers : uint8_t { none, functions, operators };  // modes of __torch_function__, of __torch_dispatch__
inline Onlookers (*onlookers)() = nullptr;
extern bool operators_are_traced;  // each is to be seen (trace/)
bool nobody_looks_on();            // nor is a gradient of gradients wanted: kernels may be called without operators

// Which operand of two is a number, in the order of their nodes' names.
enum class NumberAt : uint8_t { second, none, first, right_operator };  // the last: 2 - x, of the tensor's __rsub__

class OperatorNode : public Node {
 public:
  OperatorNode(Operator& op, FormulaPlan& plan) : op_(op), plan_(plan) {}
  ~OperatorNode() override;
  void build(const Value* args, size_t n,
      bool shown);  // the edges, and which formulas are wanted; `shown`: __torch_dispatch__ looks on
  void save(const Value* args, const Answer* result);  // without a result: what is known before it
  std::string name() const override;
  const char* renamed = nullptr;  // what PyTorch calls the node of the operator that this one is the last part of
  NumberAt numbers = NumberAt::none;
  void release_saved() override;
  void traverse(Visitor&) const override;
  bool read(GraphReader&) const override;
  void give_tangent(uint32_t output_nr, const Tensor& tangent, uint64_t level) override;

  const FormulaPlan& plan() const { return plan_; }
  bool released() const override { return released_; }
  void check_kept() const;  // RuntimeError of a second backward
  size_t arguments() const { return first_edge_.size() ? first_edge_.size() - 1 : 0; }
  bool wanted(int argument) const;
  const Edge* edge_to(int argument) const;  // of a tensor's gradient; null: not wanted
  Tensor& gradient_of(int argument, Grads& out) const { return out[size_t(first_edge_[size_t(argument)])]; }
  Tensor materialized(size_t i, Grads& grads) const;  // zeros where no gradient came
  SavedValue* find(const ParameterSource&);
  SavedValue* find_shown(const std::string& what);  // of grad_fn._saved_self; null: there is none
  const std::vector<SavedValue>& values() const { return values_; }
  std::string text_of(const SavedValue&) const;  // of a string among the arguments

 protected:
  // Fused formulas when all their inputs are wanted, then the single ones of what is left.
  void choose(bool shown);
  SavedValue value(const ParameterSource&, const Value* args, const Answer* result) const;
  bool read_saved(const SavedValue&, GraphReader&) const;
  std::string shown(const ParameterSource&) const;
  std::string result_name(int index) const;
  Tensor flat(const Tensor& gradient, const Edge& input) const;

  Operator& op_;
  FormulaPlan& plan_;
  Few<int, 8> first_edge_;  // of every argument, and one past the last
  std::vector<const PlannedFormula*> chosen_;
  std::vector<SavedValue> values_;
  bool released_ = false;
  bool has_bias_ = false;  // of a linear layer
};

}  // namespace shim
