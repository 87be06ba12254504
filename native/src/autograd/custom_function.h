#pragma once
// The results of a user's autograd.Function: which get a history, and what becomes of inputs that it returns.
#include <vector>

#include "autograd/autograd.h"

namespace shim {

enum class FunctionOutput : uint8_t { not_tensor, plain, differentiable };

// Shown the results of forward one after the other, it gives each its history.
class FunctionOutputs {
 public:
  using Impls = std::vector<TensorImpl*>;
  // `node` is null where nothing is recorded; `dirty`, `plain`: of mark_dirty and mark_non_differentiable; `returned`: all results
  // that are tensors. Counts versions of the dirty ones.
  FunctionOutputs(Node* node, Impls inputs, Impls dirty, Impls plain, const Impls& returned);

  // What stands for a result: itself, or where `view` a new view of it, to be of its class.
  struct Given {
    Tensor tensor;
    FunctionOutput kind;
    bool view = false;
  };
  Given give(const Tensor& result);
  void give_no_tensor();  // a result that is none
  // After all: views among the results may not be written to.
  void guard_view(const Tensor& given, FunctionOutput) const;
  bool is_dirty(const TensorImpl* t) const;

 private:
  Given give_plain(const Tensor& result, bool is_input, bool modified);
  void rewrite_history(const Tensor&);
  void placeholder(const TensorImpl*);
  Ref<Node> node_;
  Impls inputs_, dirty_, plain_;
  size_t tensors_, differentiable_ = 0;
};

// PyTorch's rules for what a Function's own jvp gives for its results.
class FunctionTangents {
 public:
  using Impls = FunctionOutputs::Impls;
  // Before the jvp runs: the call's arguments, null where they are no tensors.
  explicit FunctionTangents(Impls inputs);
  // What jvp gets for an argument. `materialize`: zeros where it has none and could.
  Tensor given(size_t argument, bool materialize) const;
  // `tangent` is for the result at this place; `plain` and `dirty` are as above.
  void check(
      const TensorImpl& result, const TensorImpl& tangent, size_t at, const Impls& plain, const Impls& dirty) const;

 private:
  Impls inputs_;
  std::vector<uint32_t> versions_;  // of their tangents
};

// RuntimeError where an input that is returned as it came is saved by a setup_context.
void check_saved_as_returned(const FunctionOutputs::Impls& inputs, const FunctionOutputs::Impls& returned,
    const FunctionOutputs::Impls& saved, const FunctionOutputs::Impls& dirty);
// Of save_for_backward, once results have their history: null tensors too.
std::vector<SavedTensor> saved_for_function(const Node* node, const std::vector<Tensor>& tensors);

}  // namespace shim
