#pragma once
// Operators called with sparse tensors among their arguments. Nothing of this is looked at before the first sparse tensor is.
#include "dispatch/call.h"

namespace shim {

// What shim_torch._impl.sparse says; set by the binding.
struct SparseCalls {
  void (*learn)(Operator&) = nullptr;  // sets the operator's sparse_rule, once
  void (*refuse)(const Operator&, const Value* args, size_t n, Result&) = nullptr;
  void (*rule)(Operator&, const Value* args, size_t n, Result&) = nullptr;  // what the rule runs
  void (*store)(const Tensor& target, Result& result, bool out) = nullptr;
};
inline SparseCalls sparse_calls;

// Whether the operator's rule answered; else the call goes on as with dense tensors.
bool call_sparse(Operator&, Value* args, size_t n, Result&);

}  // namespace shim
