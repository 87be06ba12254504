#pragma once
// What is learned of calls that ran, and why some are never deferred.
#include "trace/arguments.h"

namespace shim::trace {

struct Rule {            // of an operator, by its record
  std::string against;   // why its calls run at once; empty: they may be deferred
  std::string shape;     // what to say where the shapes of its results depend on values; else empty
  bool divides = false;  // it fails for a zero among integers
  bool bounds = false;   // it fails unless it is given two bounds that differ
  bool draws = false, library = false;
  enum Foreseen : uint8_t { never, of_floats, of_integers, always };
  Foreseen foreseen = never;  // in a first call: where all its tensors are
};
const Rule& rule_of(Operator&);
// Functions of a record: None or why its calls run at once; what a call may fail for.
inline Ref<HeldObject> deferral_rule, condition_rule;
// Why the call runs at once, whatever its way; null: it may be deferred.
const char* against_call(const Rule&, const Operator&, const Value* args, size_t n);
bool at_once(Session&, const Operator&, const char* why);  // counts it; false
void note_line(TreeNode&);                                 // the user's that runs
// After a call ran that may be deferred: a node is made of it, or false.
bool learn(Session&, Operator&, const Value* args, size_t n, const Produced&, bool wants_gradient);
// After the call ran: a node is made of it, or false.
bool learn(Session&, const Rule&, Operator&, const Value* args, size_t n, const Produced&, bool wants_gradient);

}  // namespace shim::trace
