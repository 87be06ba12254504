#pragma once
// Records as operators: the base overload, its in-place and out= variants, and the same under each alias; overloads made of another.
#include <string>
#include <vector>

#include "ops/operator.h"

namespace shim {

struct Variants {            // of a record's operator
  std::string name, native;  // the record's, and of the kernels that are its own; empty: none
  std::vector<std::string> aliases;
  std::vector<std::string> out_names;  // of the tensors that take the results; empty: by the schema
  bool inplace = false, out = false;
};
// Adds them all to the table; the names they got, each once: add.out is called as add.
std::vector<std::string> add_variants(std::unique_ptr<Operator> base, const Variants&);

// By a schema of its own: further arguments at the end are out= tensors, a first argument that is written makes it in-place, and
// else numbers stand where the other has tensors.
void derive_operator(std::string_view schema, std::string_view of, std::string_view overload);

// Of a row of shim_torch/_impl/data/records.py: ((inputs, parameters, flat), ...). The functions come with the record's module.
std::vector<Formula> formulas_of_row(const Value& row);
std::vector<std::string> listed_names(std::string_view list);  // "input, other"
// Functions for the formulas that wait for them. A derived operator may have fewer formulas than its record.
void attach_formulas(std::vector<Formula>& waiting, const std::vector<Formula>& found, const Operator&);

}  // namespace shim
