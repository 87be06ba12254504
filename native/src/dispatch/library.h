#pragma once
// torch.library's part of the table: operators of others, and kernels of the interpreter by dispatch key.
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/call.h"

namespace shim {

// What this thread runs: below autograd, whose history is seen to then; and the operator of this name, whose next call is
// not its kernels' (null: none).
extern thread_local constinit bool below_autograd;
extern thread_local constinit const char* passed_over;

struct OperatorParts {  // of a composite
  void* body;
  std::vector<std::pair<std::string, std::string>> names;  // of the operators it calls: name, overload
};
std::unordered_map<const Operator*, OperatorParts>& parts_of();

// Of another namespace than aten; throws if it is defined already.
Operator* define_operator(Schema, bool ops_only = false);
// Registers a kernel for a dispatch key, also before its operator is defined; null removes it. The old one, whose reference is the
// caller's, or null.
void* set_kernel(const std::string& qualified, const std::string& overload, const std::string& key, void* kernel);
[[noreturn]] void raise_no_kernel(const Operator&, const Value* args, size_t n);

// Whether a kernel answered the call.
bool run_library(Operator&, Value* args, size_t n, Result&);
// A composite of PyTorch's that is one operator here, one of whose parts has a kernel of the interpreter: its parts run instead.
// Not where that would lose gradients.
bool run_as_parts(Operator&, Value* args, size_t n, Result&);

struct LibraryCalls {  // set by the binding
  std::unique_ptr<Operator> (*operator_of)(Schema) = nullptr;
  void (*learn_parts)() = nullptr;  // fills parts_of()
  void (*kernel)(const Operator&, void* kernel, const Value* args, size_t n, Result&) = nullptr;
  void (*parts)(const Operator&, void* body, const Value* args, size_t n, Result&) = nullptr;
};
inline LibraryCalls library_calls;

}  // namespace shim
