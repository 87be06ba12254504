#pragma once
// Forward-mode gradients: a tensor may carry a tangent (AutogradMeta). The tangent of an operator's result is the derivative of
// (vector-Jacobian product . tangent) with respect to the vector, so the operators' own gradient formulas serve it.
#include <vector>

#include "autograd/autograd.h"

namespace shim {

Tensor tangent_of(const TensorImpl&);  // null: none, or of a level that is closed
uint64_t forward_level();              // which level is open; 0: none
void enter_forward_level();            // RuntimeError where one is open
void leave_forward_level();            // or where none is
bool let_tangents_count(bool on);      // on this thread, while a level is open; what it was
void set_tangent(const Tensor&, Tensor tangent);
// The tangent of a tensor just written to becomes `value` (null: zeros, where there is one), in its own memory where it has
// some, and for a view in its base's.
void write_tangent(const Tensor&, const Tensor& value);
bool tangent_lies_as(const TensorImpl&, const Tensor& tangent);  // so that views of one are views of the other
// The value, history and tangent that self has now, for formulas that name it once it is written to.
Tensor before_write(const Tensor& self);

struct NoForwardGradients {  // tangents are not looked at
  int old = forward_gradients();
  NoForwardGradients() { forward_gradients() = 0; }
  ~NoForwardGradients() { forward_gradients() = old; }
};

// An operator's inputs whose tangents count, each as a tensor of its own: the same tensor given twice is two inputs.
struct Primals {
  std::vector<Tensor> tensors, tangents;
};
std::vector<Edge> edges_of(const std::vector<Tensor>&);
// Gives the results of an operator that ran on the primals, where `inputs` led to before, their tangents; without `history` they
// have none afterwards.
void give_tangents(const std::vector<Tensor>& outputs, const std::vector<Edge>& inputs, const Primals&, bool history);

}  // namespace shim
