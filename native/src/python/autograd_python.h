#pragma once
// Between the files of autograd's Python side.
#include "autograd/autograd.h"
#include "python/object.h"

namespace shim {

PyObject* node_object(const Ref<Node>&);        // the grad_fn object; a Function's is its ctx
PyObject* saved_attribute(Node*, const char* name);   // grad_fn._saved_x; null without an error if there is none
int bind_function(PyObject* module);            // function_node.cpp
int bind_node(PyObject* module);                // node_object.cpp

class PythonHook : public Hook {                // a Python callable on gradients
 public:
  enum Form { OneTensor, Tuple, Post, Accumulated };
  PythonHook(PyObject* f, Form form, size_t index = 0) : f_(f), form_(form), index_(index) { Py_INCREF(f_); }
  ~PythonHook() override {
    if (!Py_IsInitialized()) return;
    GilAcquire gil;
    Py_DECREF(f_);
  }
  void pre(Grads& grads) override;
  void post(Grads& outputs, const Grads& inputs) override;

 private:
  PyObject* f_;
  Form form_;
  size_t index_;
};

PyObject* hook_handle(std::vector<Ref<Hook>>* list, const Ref<Hook>& hook, PyObject* owner);   // with remove(); keeps the owner
PyObject* tuple_of_grads(const Grads&);
bool grads_from(PyObject* sequence, Grads* out);   // None is a null Tensor

}  // namespace shim
