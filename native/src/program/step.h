#pragma once
// What a trace gives and the passes take: operators in the order in which they ran, with arguments and results as data.
// Tensors are storages seen through a geometry, so views are no steps.
#include <atomic>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/held_object.h"
#include "core/tensor.h"
#include "ops/kernels.h"
#include "ops/operator.h"

namespace shim::program {

struct TensorRef {  // a storage of the program's, seen through a geometry
  int32_t storage = -1;
  DType dtype = DType::f32;
  Device device;
  Dims sizes, strides;
  int64_t offset = 0;
  bool is_conj = false, is_neg = false;
  bool wrapped_number = false;  // a Python number seen as a tensor
  int64_t numel() const { return product(sizes); }
  bool operator==(const TensorRef&) const = default;
  static TensorRef of(const TensorImpl&, int32_t storage);
};
struct Parameter {  // a number that a call brings: Steps::parameters has the trace's, whose type the others have too
  uint32_t slot;
};
struct LayoutNumber {  // torch.strided is 0
  int8_t number;
};

struct Value;
using List = std::vector<Value>;
struct Value {  // monostate: None. Numbers are what Python had: bool, int and float as such, others as a Scalar.
  std::variant<std::monostate, TensorRef, Parameter, bool, int64_t, double, Scalar, std::string, DType, Device,
      LayoutNumber, MemoryFormat, Ref<HeldObject>, List>
      is;
};

struct Step {
  Operator* op = nullptr;
  List args;                       // one an argument of the schema, defaults filled in
  std::vector<TensorRef> results;  // lists' tensors one by one; of add_ and out= they are in the argument's storage
  int32_t line = -1;               // of the recorder's table of source lines
  bool apart = false;              // it stays as it is: no part of a group, and not replaced by another
};

struct StorageSlot {
  enum Origin : uint8_t { input, constant, made, copy } origin = made;
  Ref<Storage> constant_storage;  // of a constant
  Device device;
  size_t nbytes = 0;      // at the trace
  bool outlives = false;  // of a made one: somebody has a tensor over it after the call
  bool rounded = false;   // a group that makes it and reads it computes with what memory would hold
};

struct KeptCopy {  // of what no step writes: `to` is a storage of its own, which stays with the program
  TensorRef from, to;
};

// Everything a trace recorded, autocast's casts and backward's operators too: each step runs without history and without autocast.
// Storages of different slots share no memory.
struct Steps {
  std::vector<StorageSlot> storages;
  std::vector<Scalar> parameters;
  std::vector<Step> steps;
  std::vector<KeptCopy> copies;
};

// Calls visit(ref) for each tensor in an argument.
template <class V, class F> void each_tensor(V& v, F&& visit) {
  if (auto* list = std::get_if<List>(&v.is))
    for (auto& i : *list) each_tensor(i, visit);
  else if (auto* ref = std::get_if<TensorRef>(&v.is))
    visit(*ref);
}
void rename(Value&, int32_t from, int32_t to);  // a storage
bool writes(const Step&, size_t argument);      // as the schema says
bool writes(const Step&);                       // to any of its arguments
bool reads(const Step&, int32_t storage);       // it is an argument
bool changes(const Step&, int32_t storage);     // it writes to it, or makes it
// Calls visit(storage) for each that the step writes to or makes, once a tensor.
template <class F> void each_written(const Step& step, F&& visit) {
  for (size_t i = 0; i < step.args.size(); ++i)
    if (writes(step, i)) each_tensor(step.args[i], [&](const TensorRef& r) { visit(r.storage); });
  for (const TensorRef& r : step.results)
    if (r.storage >= 0) visit(r.storage);
}
// The argument, if it is a tensor.
template <class S> auto tensor(S& step, size_t argument) -> decltype(std::get_if<TensorRef>(&step.args[0].is)) {
  return argument < step.args.size() ? std::get_if<TensorRef>(&step.args[argument].is) : nullptr;
}
bool fills(const Operator&);  // it writes all of its first argument, and nothing else, and reads no tensor
std::vector<bool> filled_first(const Steps&);  // of each storage: the first step that meets it fills all of it

// The storages of a run: the caller fills in the inputs; the run fills in those that are made and outlive it.
using Storages = std::span<Ref<Storage>>;
Tensor tensor_of(const TensorRef&, Storages);
// Memory in which the tensor lies as the program's other steps expect it.
Ref<Storage> storage_as(const Tensor&, const TensorRef& expected);
inline std::atomic<bool> laid_otherwise = false;  // it was copied for that, by whichever thread, since this was set

// One step that gives nothing, as operators over lists do, by the kernel itself: no objects of Python are made. False, with nothing done:
// there is none for it.
bool run_kernel(const Step&, Storages, std::span<const Scalar> parameters);
// One step through the dispatcher. Needs the interpreter's lock.
void run_step(const Step&, Storages, std::span<const Scalar> parameters);
// All of them in order, one operator after the other: what a Program must equal.
void run_steps(const Steps&, Storages, std::span<const Scalar> parameters);

}  // namespace shim::program
