#pragma once
// Between the files of autograd's Python side.
#include "autograd/autograd.h"
#include "python/object.h"

namespace shim {

PyObject* node_object(const Ref<Node>&);  // the grad_fn object; a Function's is its ctx
Ref<Node> node_of(PyObject*);             // of a grad_fn object; null for anything else
PyObject* function_ctx(Node*);            // new reference; null for other nodes
Ref<Node> node_of_function(PyObject* ctx);
PyObject* next_functions_of(Node&);
PyObject* metadata_of_inputs(Node&);
PyObject* node_metadata(Node&);  // the dict of grad_fn.metadata; new reference
PyObject* register_node_hook(Node&, PyObject* f, bool before);
PyObject* saved_attribute(Node*, const char* name);  // grad_fn._saved_x; null without an error if there is none
bool raw_saved_attribute(Node*, const char* name, std::vector<SavedTensor*>* found, bool* list);
size_t saved_hooks_pushed();                                   // how many default hooks of saved tensors are on
void restore_saved_hooks(size_t pushed);                       // takes off what was pushed since
PyObject* saved_object(const Ref<Node>& owner, SavedTensor*);  // a SavedTensor object that lives with its node
void may_be_finalized_again(PyObject*);                        // after an object outlived its finalizer
// For the cycle collector: what this tensor's object, or the one that `held` stands for, keeps alive and nothing else does (traversal.cpp).
int visit_tensor(const TensorImpl&, visitproc, void*);
int visit_shared(Traversable* held, visitproc, void*);
int visit_saved(const SavedTensor&, visitproc, void*);
PyObject* owner_of(const Storage&);  // of memory that belongs to a Python object: that object (borrowed), or null

int bind_function(PyObject* module);  // function_object.cpp
int bind_node(PyObject* module);      // node_object.cpp
int bind_hooks();                     // hooks.cpp
int bind_saved(PyObject* module);     // saved_object.cpp

// Of a tensor's attributes about gradients (bind_autograd.cpp), for its methods.
int put_requires_grad(TensorImpl*, bool on, const char* refusal);  // -1 with an error set, whose text may be `refusal`
PyObject* detached_by_handler(PyObject* self);  // as __torch_dispatch__ does it; null: no handler, or an error
bool keeps_class(PyObject* self);               // whether detach() gives a tensor of self's class

class PythonHook : public Hook {  // a Python callable on gradients
 public:
  enum Form {
    OneTensor,
    Tuple,
    Post,
    Accumulated,
    Dict
  };  // Dict: {id: hook} that Python may change, each of one tensor
  PythonHook(PyObject* f, Form form, size_t index = 0) : f_(f), form_(form), index_(index) { Py_INCREF(f_); }
  ~PythonHook() override;
  void traverse(Visitor& v) const override { v.python(f_); }
  void pre(Grads& grads) override;
  void post(Grads& outputs, const Grads& inputs) override;
  PyObject* callable() const { return f_; }
  Form form() const { return form_; }
  struct PyHandle* handle = nullptr;  // while both live

 private:
  void pre_of_dict(Grads& grads);
  PyObject* f_;
  Form form_;
  size_t index_;
};

PyObject* add_hook(HookList&, const Ref<PythonHook>&);  // the handle, whose remove() takes it off again
PyObject* tuple_of_grads(const Grads&);
bool grads_from(PyObject* sequence, Grads* out);  // None is a null Tensor

}  // namespace shim
