#pragma once
// The node of a user's autograd.Function, whose backward is the interpreter's.
#include "autograd/custom_function.h"
#include "ops/value.h"

namespace shim {

class FunctionNode;

struct FunctionContext {  // what a ctx, an object of the interpreter, holds of it
  FunctionNode* node;     // while it lives; one that goes is there until this is null
  std::vector<SavedTensor>* saved;
  char materialize, materialize_non_diff, freed, owns_node;
};

class FunctionNode final : public Node {
 public:
  FunctionNode(void* ctx, FunctionContext&, std::string name);
  ~FunctionNode() override;
  void release_saved() override;
  bool runs_without_gradients() const override { return true; }
  std::string name() const override { return name_; }
  void* ctx() const { return ctx_; }
  FunctionContext& context() const { return context_; }
  // One owns the other: the node its ctx, until the interpreter holds the ctx as a grad_fn.
  bool owns_ctx = true;
  void lose_ctx() { ctx_ = nullptr, owns_ctx = false; }
  void traverse(Visitor& v) const override {
    Node::traverse(v);
    if (owns_ctx) v.python(ctx_);
  }
  Grads apply(Grads&& grads) override;

  std::vector<bool> is_tensor_input;  // one an argument of apply()
  std::vector<InputMeta> given;       // one a tensor among them, where a transform of torch.func ran
  std::vector<FunctionOutput> outputs;

 private:
  Grads gradients(const Value& given) const;
  Grads transposed_jvp(const std::vector<Value>& args, bool* has_one) const;
  void* ctx_;
  FunctionContext& context_;  // there as long as the ctx
  std::string name_;
};

// Set by the binding: new references.
struct FunctionCalls {
  void* (*backward)(void* ctx) = nullptr;  // of its class, what gives the gradients
  void* (*class_of)(void* ctx) = nullptr;  // the user's
};
inline FunctionCalls function_calls;

// Whether backward is run for what its gradient by the cotangents is, which the Function's own jvp gives. -> what it was.
bool want_own_tangents(bool on);

}  // namespace shim
