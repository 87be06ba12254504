#pragma once
// Overloads that follow from another one, the functional: add_ and add.out of add.
#include <string>
#include <vector>

#include "ops/operator.h"

namespace shim {

void take_over(Operator& derived, const Operator& functional);  // what both have: schema, formulas, kind
void make_inplace(Operator& derived, Operator& functional);
// `names`: of the tensors at the end of the arguments that take the results.
void make_out(Operator& derived, Operator& functional, const std::vector<std::string>& names);
// By a schema of its own: further arguments at the end are out= tensors, a first argument that is written makes it in-place, and
// else numbers stand where the other has tensors.
void make_by_schema(Operator& derived, Operator& functional, Schema);
// Which tensors numbers may stand for: one flag an argument, and the operator's own flags.
std::vector<bool> allow_numbers(Operator&, Numbers);

}  // namespace shim
