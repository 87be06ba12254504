#pragma once
// The operator table. One Operator an overload; filled from the records of shim_torch/_impl, torch.library and the C ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "ops/schema.h"
#include "ops/traits.h"

namespace shim {

struct Formula {                        // gradient of one input (or, fused, of several)
  std::vector<std::string> inputs;      // schema names whose gradient it gives
  PyObject* function = nullptr;         // Python callable
  std::vector<std::string> parameters;  // its argument names: "g", "g1", input names, "result", "x_shape", ...
};

struct Slot {                       // what binding needs of an argument, made once
  PyObject* name = nullptr;         // interned
  PyObject* alternative = nullptr;  // NumPy's word for it (axis, keepdims, x2), or null
  PyObject* fallback = nullptr;     // the default as a Python object; null: required
  bool is_self = false;             // named `input` in torch.f(...)
  bool number_ok = false;           // a Python number may stand for the tensor
  bool none_ok = false;             // None is an undefined tensor, as library operators get it
};

struct Operator;
// What kernel_call.h makes of a typed kernel: bound arguments in, a new reference out. Null without an error set: the kernel declined, the
// body (run) answers.
using NativeFn = PyObject* (*)(Operator&, PyObject* const* args, size_t n);
bool has_native(const char* name);

// What an operator does with sparse tensors (python/sparse_dispatch.cpp).
enum class SparseRule : uint8_t { unknown, pass, refuse, kernel, parts };

struct Operator {
  Schema schema;
  const Traits* traits = &kNoTraits;
  const char* alias_of = nullptr;  // the record's name, where the operator has another
  std::vector<Slot> slots;
  uint16_t positional = 0;  // how many arguments may be positional
  uint16_t required = 0;    // how many positional ones have no default
  uint16_t out_count = 0;
  bool pointwise = false;  // 0-d CPU tensors may meet CUDA ones
  bool factory = false;    // has dtype, layout, device, pin_memory: takes requires_grad= too
  bool has_tensor_list = false;
  bool number_overloads = false;  // PyTorch has overloads of their own for numbers in the places of its tensors
  bool wants_a_tensor = false;    // numbers may stand for some of its tensors, not for all
  bool returns_self = false;      // writes its arguments (add_, user's mutating kernels) and returns the first
  int pin_slot = -1;              // of a factory: where pin_memory stands
  int device_slot = -1;           // of a factory: where torch.set_default_device applies
  enum Kind : uint8_t { Kernel, Composite, View } kind = Kernel;
  bool dispatch_leaf = false;          // __torch_dispatch__ sees it though it is a composite here
  PyObject* dispatch_parts = nullptr;  // what it runs as where __torch_dispatch__ looks on: PyTorch has a composite
  PyObject* record = nullptr;          // the Python record, or null
  PyObject* run = nullptr;             // Python callable: bound arguments in schema order -> result
  std::vector<Formula> formulas, fused;
  std::vector<Formula> shown;                       // by PyTorch's operators, which __torch_dispatch__ sees in backward
  int shown_outputs = -1;                           // how many results they are gradients of; -1: all
  std::vector<std::string> differentiable_outputs;  // empty: all floating outputs
  bool ops_only = false;              // torch.ops has it, the functions and methods of that name do not know it
  bool inplace = false, out = false;  // derived variants: add_, add.out
  Operator* functional = nullptr;     // the overload they derive from
  NativeFn native = nullptr;
  void* native_data = nullptr;
  std::unordered_map<std::string, PyObject*> overrides;  // dispatch key name -> Python kernel, by torch.library
  bool number_kernels = false;  // an overload for numbers that PyTorch has beside this one got a kernel
  SparseRule sparse_rule = SparseRule::unknown;
  PyObject* sparse_run = nullptr;
  uint64_t calls_body = 0, calls_native = 0;  // counted for torch_proxy_status()
  NativeFn native_cpu = nullptr;              // asked before `native`
  void* native_cpu_data = nullptr;
  std::vector<std::pair<const char*, uint64_t>> declines;  // why native kernels left calls to the body, and how often
};

extern void (*before_lookup)();  // lets loaded libraries' operators in; null until there can be any
// Defines the operators of aten that wait until one is asked for that is not there; whether it did. Null: none wait.
extern bool (*define_waiting)();

Operator* find_operator(const std::string& qualified_name, const std::string& overload);
const std::vector<Operator*>& overloads(const std::string& qualified_name);
const std::vector<Operator*>& public_overloads(const std::string& qualified_name);  // without those of torch.ops alone

// Adds an overload (replacing none); the table owns it until remove_operator.
Operator* add_operator(Operator&&);
void remove_operator(Operator*);
std::vector<std::string> operator_names(const std::string& ns);
std::vector<std::string> operator_namespaces();
// Sets its four fields of natives: of the typed kernels of the name, for each device, the first that fits the operator's schema.
void find_natives(const std::string& name, Operator& into);

}  // namespace shim
