#pragma once
// Whether a call is what a node of the tree says, and what node a call makes.
#include <functional>
#include <optional>

#include "core/few.h"
#include "ops/value.h"
#include "program/values.h"
#include "trace/session.h"

namespace shim::trace {

struct Given {  // what a call brings for a node: lives as long as its arguments
  Few<TensorImpl*, 8> inputs;
  Few<Scalar, 4> parameters;
  void clear() { inputs.clear(), parameters.clear(); }
};
bool matches(Session&, const TreeNode&, const Value* args, size_t n, Given&);

// What an operator that ran gave; `none` of those that write to their first argument.
struct Produced {
  Results form = Results::none;
  std::vector<Tensor> tensors;
};
inline constexpr const char* kSharesWithArgument = "results that share memory with an argument";
// A node for the call; null with the reason: it cannot be deferred. `wanted`: whether it is taken; the session does not know it else.
std::unique_ptr<TreeNode> node_of(Session&, Operator&, const Value* args, size_t n, const Produced&, const char** why,
    const std::function<bool(TreeNode&)>& wanted = {});
// What the call that a node was made of brings.
void given_of(const TreeNode&, const Value* args, Given&);

// The arguments that a node's operator gets when it runs.
class NodeArguments {
 public:
  explicit NodeArguments(std::span<const Tensor> inputs) : inputs_(inputs) {}
  Value of(const ArgumentSpec&, const Scalar* parameter);  // lives as long as this

 private:
  std::span<const Tensor> inputs_;
  program::Given constants_{{}, {}};
  ValueRoom room_;
};

}  // namespace shim::trace
