#pragma once
// The operator table. One Operator an overload; filled from the records of shim_torch.ops, torch.library and the C ABI.
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/schema.h"

struct _object;                                 // PyObject

namespace shim {

struct Formula {                                // gradient of one input (or, fused, of several)
  std::vector<std::string> inputs;              // schema names whose gradient it gives
  _object* function = nullptr;                  // Python callable
  std::vector<std::string> parameters;          // its argument names: "g", "g1", input names, "result", "x_shape", ...
};

struct Operator {
  Schema schema;
  enum Kind : uint8_t { Kernel, Composite, View } kind = Kernel;
  _object* record = nullptr;                    // the Python record, or null
  _object* run = nullptr;                       // Python callable: bound arguments in schema order -> result
  std::vector<Formula> formulas, fused;
  std::vector<std::string> differentiable_outputs;   // empty: all floating outputs
  bool inplace = false, out = false;            // derived variants: add_, add.out
  Operator* functional = nullptr;               // the overload they derive from
  // Native fast path: gets bound arguments, returns a new reference or null without an error set: "not mine, use run".
  _object* (*native)(Operator&, _object* const* args, size_t n) = nullptr;
  void* native_data = nullptr;
  std::unordered_map<std::string, _object*> overrides;   // dispatch key name -> Python kernel, by torch.library
  uint64_t calls_body = 0, calls_native = 0;    // counted for torch_proxy_status()
};

Operator* find_operator(const std::string& qualified_name, const std::string& overload);
const std::vector<Operator*>& overloads(const std::string& qualified_name);

}  // namespace shim
