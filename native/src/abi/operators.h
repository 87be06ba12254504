#pragma once
#include "abi/abi.h"

namespace shim::abi {

// Calls an operator of the table with the cells of a stack, which it takes, and leaves those of its results there. `internal`: also where
// an argument is a Scalar. Needs the interpreter's lock.
void run_operator(const char* name, const char* overload, Cell* stack, bool internal);
const Schema* schema_of_operator(const char* name, const char* overload);  // null: it is not there

void take_over_libraries();                // what libraries registered since the last time enters the operator table
std::vector<std::string> take_problems();  // with their schemas
std::vector<std::string> tags_of(std::string_view qualified, std::string_view overload);  // that a library gave

}  // namespace shim::abi
