#pragma once

// Which values an operator's gradient formulas are called with, worked out once an operator.
#include <cstdint>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace shim {

// Where a formula's parameter comes from, worked out once an operator.
struct ParameterSource {
  enum Kind : uint8_t { Grad, Result, Argument, Shape, DTypeOf, DeviceOf, Strides, Offset, Wanted } kind;
  int index = 0;
};
struct PlannedFormula {
  const Formula* formula;
  std::vector<int> inputs;  // argument indices whose gradients it gives
  std::vector<ParameterSource> sources;
};
struct FormulaPlan {
  std::string name;  // "AddBackward0"
  std::vector<PlannedFormula> single, fused;
  std::vector<PlannedFormula> shown;  // where __torch_dispatch__ looks on, in the place of the others
  bool list_result = false;
  std::vector<bool> has_edges;  // arguments with a gradient: numbers and None given for a tensor count as inputs
  bool linear = false;          // its weight's gradient may be added to .grad by the product itself
  bool activated = false;       // a linear layer with an activation
  bool product = false;         // of matrices, or of batches of them
};

// Lives as long as the process; called with the GIL, which guards the table of plans.
FormulaPlan& plan_of(Operator& op);

// The formulas that __torch_dispatch__ is shown, of the operator's first results (-1: of all). With the GIL; once an operator.
void show_formulas(Operator& op, std::vector<Formula> formulas, int outputs);

}  // namespace shim
