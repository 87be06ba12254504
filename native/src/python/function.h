#pragma once
// torch.autograd.Function in C++: the ctx object (function_object.cpp) and its node (function_node.cpp).
#include "autograd/custom_function.h"
#include "python/autograd_python.h"

namespace shim {

class FunctionNode;

struct PyFunction {  // ctx; also the grad_fn of the results
  PyObject_HEAD PyObject *dict, *weakrefs;
  FunctionNode* node;  // while it lives
  PyObject *needs_input_grad, *to_save, *non_differentiable, *dirty_tensors, *saved_for_forward;
  char materialize, materialize_non_diff, freed, owns_node;
  std::vector<SavedTensor>* saved;
};

inline PyFunction* as_function(PyObject* ctx) { return reinterpret_cast<PyFunction*>(ctx); }
FunctionOutputs::Impls impls_of(PyObject* const* args, size_t n);  // null where one is no tensor
FunctionOutputs::Impls impls_in(PyObject* tuple);                  // none where it is no tuple

class FunctionNode final : public Node {
 public:
  FunctionNode(PyFunction* ctx, std::string name);
  ~FunctionNode() override;
  void release_saved() override;
  bool runs_without_gradients() const override { return true; }
  std::string name() const override { return name_; }
  PyFunction* ctx() const { return ctx_; }
  // One owns the other: the node its ctx, until Python holds the ctx as a grad_fn.
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
  PyObject* call_backward(PyObject* args);
  PyObject* transposed_jvp(PyObject* args);
  Grads results(PyObject* r);
  PyFunction* ctx_;
  std::string name_;
};

// Whether backward is run for what its gradient by the cotangents is, which the Function's own jvp gives. -> what it was.
bool want_own_tangents(bool on);

// Gives the results of forward their history; `args` are apply()'s. A new tuple; null with an error set.
PyObject* wrap_outputs(
    PyFunction* ctx, const Ref<FunctionNode>& node, PyObject* const* args, size_t nargs, PyObject* outputs);
// Function.apply, and the same past functorch's rules (function_apply.cpp).
PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* function_apply_directly(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
bool save_variables(PyFunction* ctx, const Ref<FunctionNode>& node);

}  // namespace shim
