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
PyObject* node_metadata(Node&);                                // the dict of grad_fn.metadata; new reference
PyObject* saved_object(const Ref<Node>& owner, SavedTensor*);  // a SavedTensor object that lives with its node
void may_be_finalized_again(PyObject*);                        // after an object outlived its finalizer
// For the cycle collector: what this tensor's object, or the one that `held` stands for, keeps alive and nothing else does (traversal.cpp).
int visit_tensor(const TensorImpl&, visitproc, void*);
int visit_shared(Traversable* held, visitproc, void*);
int visit_saved(const SavedTensor&, visitproc, void*);
PyObject* owner_of(const Storage&);  // of memory that belongs to a Python object: that object (borrowed), or null

int bind_function(PyObject* module);  // function_object.cpp
int bind_node(PyObject* module);      // node_object.cpp
int bind_saved(PyObject* module);     // saved_object.cpp

// Of a tensor's attributes about gradients (bind_autograd.cpp), for its methods.
int put_requires_grad(TensorImpl*, bool on, const char* refusal);  // -1 with an error set, whose text may be `refusal`
PyObject* detached_by_handler(PyObject* self);  // as __torch_dispatch__ does it; null: no handler, or an error
bool keeps_class(PyObject* self);               // whether detach() gives a tensor of self's class

PyObject* tuple_of_grads(const Grads&);
bool grads_from(PyObject* sequence, Grads* out);  // None is a null Tensor

}  // namespace shim
