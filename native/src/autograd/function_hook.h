#pragma once
// Functions of the interpreter as hooks of tensors and nodes, and the handles that take them off again.
#include "autograd/autograd.h"
#include "ops/interpreter_function.h"

namespace shim {

// Neither it nor its hook keeps the other: a handle among the attributes of its tensor closes no cycle.
struct HookHandle {
  class FunctionHook* hook;  // while that lives
  void* id;
  void remove();
};

class FunctionHook final : public Hook {
 public:
  enum Form : uint8_t {
    one_tensor,
    tuple,  // of all gradients that arrive at a node
    after,  // the node ran
    accumulated,
    dict  // {id: hook} that the interpreter may change, each of one tensor
  };
  FunctionHook(void* function, Form form, size_t index = 0)
      : f_(make<HeldObject>(function)), form_(form), index_(index) {}
  ~FunctionHook() override;
  void traverse(Visitor& v) const override { v.python(f_->object); }
  void pre(Grads& grads) override;
  void post(Grads& outputs, const Grads& inputs) override;
  void* function() const { return f_->object; }
  bool is_dict() const { return form_ == dict; }
  std::weak_ptr<HookHandle> handle;

 private:
  void pre_of_dict(Grads& grads);
  void replace(const Value& given, Grads& grads) const;
  Tensor replaced(const Value& given, const Tensor& was) const;
  Ref<HeldObject> f_;
  Form form_;
  size_t index_;
};

std::shared_ptr<HookHandle> add_hook(HookList&, const Ref<FunctionHook>&);
std::shared_ptr<HookHandle> add_node_hook(Node&, void* function, bool before);
std::shared_ptr<HookHandle> add_tensor_hook(TensorImpl&, void* function);
std::shared_ptr<HookHandle> add_accumulated_hook(TensorImpl&, void* function);
// {id: hook} in the place of the hooks that a leaf has; null: none.
void set_tensor_hooks(TensorImpl&, void* dict);

}  // namespace shim
