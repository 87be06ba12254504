#pragma once

// The node of an operator of the table: it keeps what the needed formulas name, and calls them in backward.
#include <string>
#include <vector>

#include "autograd/autograd.h"
#include "python/dispatch.h"
#include "python/linear_backward.h"
#include "python/record_plan.h"

namespace shim {

struct Saved {                       // one value that a formula names
  std::vector<SavedTensor> tensors;  // one; several for a Tensor[] argument
  PyObject* object = nullptr;        // anything else
  bool is_list = false, is_tensor = false;
};

class RecordNode final : public Node, public ActivatedLinear {
 public:
  RecordNode(Operator& op, Plan& plan) : op_(op), plan_(plan) {}
  ~RecordNode() override { drop(); }
  void traverse(Visitor&) const override;
  std::string name() const override { return plan_.name; }
  Grads apply(Grads&& grads) override;
  bool offers(Offer&) override;
  void release_saved() override;

  void build(PyObject* const* args, size_t n);         // the edges, and which formulas are wanted
  void save(PyObject* const* args, PyObject* result);  // without a result: what is known before it
  void give_tangent(uint32_t output_nr, const Tensor& tangent, uint64_t level) override {
    for (Saved& v : values_)
      for (SavedTensor& t : v.tensors) t.give_tangent(output_nr, tangent, level);
  }
  Saved* find(const std::string& what);      // of grad_fn._saved_self; null: there is none
  PyObject* saved(const std::string& what);  // a new reference; null without an error if there is none

 private:
  // Fused formulas when all their inputs are wanted, then the single ones of what is left.
  void choose(bool shown);  // shown: __torch_dispatch__ looks on
  bool wanted(int argument) const;
  std::string shown(const ParameterSource& s) const;
  std::string result_name(int index) const;

  Saved* find(const ParameterSource& s);
  Saved value(const ParameterSource& s, PyObject* const* args, PyObject* result);
  PyObject* unpack(Saved& v);
  void drop();

  PyObject* gradient(int index, Grads& grads);
  PyObject* wanted_of(const PlannedFormula& f) const;  // a tuple of bools, one an input of the formula
  Tensor materialized(size_t i, Grads& grads);         // zeros where no gradient came
  void call(const PlannedFormula& f, Grads& grads, Grads& out);
  void take(int argument, PyObject* r, Grads& out);
  Tensor flat(const Tensor& gradient, const Edge& input) const;

  // Of linear, without Python (record_linear.cpp). Whether the product added to the weight's .grad by itself:
  bool adds_weight_gradient(const Tensor& dy);
  bool adds_in_place(const PlannedFormula& f, Grads& grads);
  // The formulas' values for a weight of two dimensions and a bias a feature. False: nothing was done.
  bool linear_gradients(Grads& grads, Grads& out);
  bool activated_gradients(Grads& grads, Grads& out);  // behind an activation, on CUDA
  bool product_gradients(Grads& grads, Grads& out);    // of mm and bmm
  bool lies_by_columns(int argument);
  const Edge* edge_to(int argument) const;  // null: not wanted
  bool describe(RecordedLinear&);           // false: the formulas know more
  gemm::Activation activation();

  Operator& op_;
  Plan& plan_;
  std::vector<int> first_edge_;  // of every argument, and one past the last
  std::vector<const PlannedFormula*> chosen_;
  std::vector<ParameterSource> keys_;  // of the values, in the same order
  std::vector<Saved> values_;
  bool released_ = false;
};

}  // namespace shim
