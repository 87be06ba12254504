#pragma once
// What is cheap to compute again is not kept: where the most memory is in use, a value that a group makes, and that is read only later, is
// computed a second time there. Its steps are repeated: as a part of the group that reads it, or of one that reads what it is made
// of, or as a group of their own.
#include "program/program.h"

namespace shim::program {

// Changes the steps' arguments and the items; new steps are behind those that were there. What groups need not write any more is removed
// by the caller.
void recompute(Steps&, std::vector<Item>&);

}  // namespace shim::program
