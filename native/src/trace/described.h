#pragma once
// What a trace knows, told to the interpreter: for explain() and for backends.
#include <deque>

#include "core/report.h"
#include "trace/arguments.h"
#include "trace/trees.h"

namespace shim::trace {

// Values that live as long as this. A node is (operator, arguments, results, file, line), a tensor ("tensor", slot, sizes, strides, offset,
// dtype, device, fresh, conj, neg).
class Described {
 public:
  Value ways(const Trees&);  // through the function, each a list of its operators
  Value nodes(std::span<const Session::Deferred>);
  Value slots(const std::vector<TensorSpec>&);

 private:
  Value tuple(std::initializer_list<Value>);
  template <class Items, class F> Value list(const Items&, F&&);
  Value dims(IntArrayRef);
  Value tensor(const TensorSpec&);
  Value argument(const TreeNode&, const ArgumentSpec&);
  Value node(const TreeNode&);

  ValueRoom room_;
  NodeArguments constants_{{}};
  std::deque<std::string> names_;
};

Fact report(const Session&);
// (counts, why operators ran at once, how programs ran that may be graphs) since the last time that it was asked. Reasons are
// ((operator, why), times).
Fact totals();

}  // namespace shim::trace
