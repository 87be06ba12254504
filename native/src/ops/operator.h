#pragma once
// The operator table. One Operator an overload; filled from the records of shim_torch/_impl, torch.library and the C ABI.
// Nothing here knows Python: what it keeps beside an operator stands in python/operator.h.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/report.h"
#include "ops/schema.h"
#include "ops/traits.h"

namespace shim {

struct Formula {                        // gradient of one input (or, fused, of several)
  std::vector<std::string> inputs;      // schema names whose gradient it gives
  std::vector<std::string> parameters;  // its argument names: "g", "g1", input names, "result", "x_shape", ...
  void* function = nullptr;             // what is called with them: a callable of the interpreter
  bool flat = false;                    // its slope is constant in pieces: the second gradient is zeros, not absent
};

struct Operator;
struct Value;
struct Answer;
// What kernels/call.h makes of a typed kernel: the bound arguments in, what it gives out. An answer that stays `declined` leaves the call
// to the operator's body.
using KernelCall = void (*)(Operator&, const Value* args, Answer&);
enum class On : uint8_t { any, cpu, cuda };  // the devices whose tensors a kernel takes
using FitsArgument = bool (*)(const Argument&);
struct TypedKernel {
  std::span<const FitsArgument> fits;  // one a parameter: whether it serves the schema's argument of that place
  KernelCall call;
  const void* data;  // what it was registered with
  On on;
};

// What an operator does with sparse tensors (dispatch/sparse.cpp).
enum class SparseRule : uint8_t { unknown, pass, refuse, kernel, parts };

struct Operator {
  Operator() = default;
  Operator(const Operator&) = default;
  Operator(Operator&&) = default;
  Operator& operator=(const Operator&) = default;
  Operator& operator=(Operator&&) = default;
  virtual ~Operator() = default;
  // What every call asks for comes first.
  const Traits* traits = &kNoTraits;
  enum Kind : uint8_t { Kernel, Composite, View } kind = Kernel;
  bool inplace = false, out = false;  // derived variants: add_, add.out
  bool pointwise = false;             // 0-d CPU tensors may meet CUDA ones
  bool factory = false;               // has dtype, layout, device, pin_memory: takes requires_grad= too
  bool wants_a_tensor = false;        // numbers may stand for some of its tensors, not for all
  bool dispatch_leaf = false;         // __torch_dispatch__ sees it though it is a composite here
  bool overridden = false;            // torch.library gave it kernels
  bool any_numbers = false;           // a launch of a compiled kernel: its numbers are what it computes with, no more
  bool number_kernels = false;        // an overload for numbers that PyTorch has beside this one got a kernel
  uint16_t positional = 0;            // how many arguments may be positional
  uint16_t required = 0;              // how many positional ones have no default
  uint16_t out_count = 0;
  int pin_slot = -1;     // of a factory: where pin_memory stands
  int device_slot = -1;  // of a factory: where torch.set_default_device applies
  KernelCall native = nullptr;
  KernelCall native_cpu = nullptr;  // asked before `native`
  void *native_data = nullptr, *native_cpu_data = nullptr;
  uint64_t calls_body = 0, calls_native = 0;  // counted for torch_proxy_status()
  Operator* functional = nullptr;             // the overload that add_ and add.out derive from
  std::vector<Formula> shown;                 // by PyTorch's operators, which __torch_dispatch__ sees in backward
  std::vector<Formula> formulas, fused;
  Schema schema;
  const char* alias_of = nullptr;  // the record's name, where the operator has another
  bool has_tensor_list = false;
  bool number_overloads = false;  // PyTorch has overloads of their own for numbers in the places of its tensors
  bool recorded = false;          // from a record of shim_torch/_impl, not from a library
  bool ops_only = false;          // torch.ops has it, the functions and methods of that name do not know it
  SparseRule sparse_rule = SparseRule::unknown;
  int shown_outputs = -1;                            // how many results `shown` gives gradients of; -1: all
  std::vector<std::string> differentiable_outputs;   // empty: all floating outputs
  std::unordered_map<std::string, void*> overrides;  // dispatch key -> kernel of the interpreter, by torch.library
  std::vector<std::pair<const char*, uint64_t>> declines;  // why native kernels left calls to the body, and how often

  // Another operator with what the interpreter keeps of this one; and what it has to do once the schema is there. `numbers`: which
  // arguments a number may stand for, none where it is empty.
  virtual std::unique_ptr<Operator> sharing() const { return std::make_unique<Operator>(); }
  virtual void prepare(const std::vector<bool>& numbers = {}) { (void)numbers, read_schema(); }

  std::string full_name() const;  // "aten::add.Tensor", "aten::relu"
  void read_schema();             // the counts, slots and flags that follow from the schema
  void decline(const char*
          why);  // counts a literal that says why a native kernel left a call to the body; null or empty: nothing
};

extern void (*before_lookup)();  // lets loaded libraries' operators in; null until there can be any
// Defines the operators of aten that wait until one is asked for that is not there; whether it did. Null: none wait.
extern bool (*define_waiting)();

Operator* find_operator(const std::string& qualified_name, const std::string& overload);
Operator& operator_named(
    std::string_view qualified_name, std::string_view overload = "");  // an error where there is none
const std::vector<Operator*>& overloads(const std::string& qualified_name);
const std::vector<Operator*>& public_overloads(const std::string& qualified_name);  // without those of torch.ops alone

// Adds an overload (replacing none); the table owns it for ever: callables and nodes of graphs point at it.
Operator* add_operator(std::unique_ptr<Operator>);
void remove_operator(Operator*);
std::vector<std::string> operator_names(const std::string& ns);
std::vector<std::string> operator_namespaces();
Fact operator_counts();    // {"aten::add.Tensor": (calls of the body, of the kernel)} of those that were called
Fact operator_declines();  // {"aten::sort": {"bool tensors": 3}}: why kernels left calls to bodies, and how often

// Kernels are registered before the records are defined. Several may have one name: an operator gets, for each device, the first
// that fits its schema, the one for CPU tensors to be asked before the other.
void add_kernel(const char* name, const TypedKernel&);
bool has_native(const char* name);
bool has_cuda_kernel(const std::string& name);  // one that takes CUDA tensors
void find_natives(const std::string& name, Operator& into);

}  // namespace shim
