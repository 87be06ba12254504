#pragma once
// The LibTorch stable C ABI: what wheels built against PyTorch's stable headers call. No Python in here.
// A tensor handle is a counted TensorImpl; a StableIValue is one uint64 cell whose meaning the schema gives.
#include <cstdint>
#include <string>
#include <vector>

#include "core/held_object.h"
#include "core/interpreter_lock.h"
#include "core/tensor.h"
#include "ops/schema.h"
#include "ops/value.h"

#define SHIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace shim::abi {

using Cell = uint64_t;           // StableIValue
using Handle = TensorImpl*;      // AtenTensorHandle
using List = std::vector<Cell>;  // what a ListHandle points to
using Err = int32_t;             // 0: done, 1: failed, the text is last_error()
using Kernel = void (*)(Cell* stack, uint64_t args, uint64_t returns);

// --- errors (errors.cpp): a text a thread; nothing is thrown across the C boundary ------------------------------------
void set_last_error(const std::string& text) noexcept;
const std::string& last_error() noexcept;
void clear_last_error() noexcept;

template <class F> Err caught(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const std::exception& e) { set_last_error(e.what()); } catch (...) {
    set_last_error("an exception that is no std::exception");
  }
  return 1;
}

// --- tensors (tensors.cpp) --------------------------------------------------------------------------------------------
Handle undefined_handle() noexcept;  // the handle of no tensor; counted by nobody
inline bool is_defined(Handle h) noexcept { return h && h != undefined_handle(); }
TensorImpl& tensor_of(Handle);                       // throws on null and undefined handles
inline Handle handle_of(const Tensor& t) noexcept {  // a new owning handle
  if (!t) return undefined_handle();
  t->retain();
  return t.get();
}
inline Tensor steal(Handle h) noexcept { return is_defined(h) ? Tensor::adopt(h) : Tensor(); }
Device make_device(int32_t type, int32_t index);
DType make_dtype(int32_t number);

// A torch.Generator that compiled code holds: what an AtenGeneratorHandle points to.
class HeldGenerator final : public RefCounted {
 public:
  HeldGenerator(void* o, Device d) : device(d), object(o) {}
  const Device device;
  const HeldObject object;
};

// --- values (values.cpp) ----------------------------------------------------------------------------------------------
inline Cell from_device(Device d) noexcept { return (Cell(uint32_t(d.type)) << 32) + uint32_t(int32_t(d.index)); }
inline Device to_device(Cell v) { return make_device(int32_t(v >> 32), int32_t(uint32_t(v))); }
Cell cell_of(const shim::Value&, const ArgType&);        // a new cell that owns what it refers to (cells.cpp)
shim::Value value_in(Cell, const ArgType&, ValueRoom&);  // what a cell holds, lent
void release(const ArgType&, Cell) noexcept;             // frees what a value owns that nobody took
void release_arguments(const Schema&, const Cell* stack, size_t n) noexcept;

// --- the registry (registry.cpp): filled while libraries load, on any thread, with or without the GIL ----------------
struct Definition {
  std::string ns;
  Schema schema;
  std::string file;
  uint32_t line;
  std::vector<int32_t> tags;
};
struct Implementation {
  std::string qualified, overload, key;
  Kernel kernel;
  uint64_t build_version;
};
struct News {
  std::vector<Definition> definitions;
  std::vector<Implementation> implementations;
  std::vector<std::string> problems;  // schemas that could not be read
};
bool any_news() noexcept;  // cheap: asked at each look into the operator table
News take_news();
void note_python_kernel(
    const std::string& qualified, const std::string& overload);  // calls go the long way from now on

// Runs a compiled kernel of the operator on the stack as it is; false where there is none or Python has a say.
bool call_compiled(const std::string& qualified, const std::string& overload, Cell* stack);
const char* tag_name(int32_t tag) noexcept;

// --- what needs the interpreter; installed by src/python/stable_abi.cpp ----------------------------------------------
struct Host {
  void (*dispatch)(const char* name, const char* overload, Cell* stack, bool internal) = nullptr;
  void (*warn)(const char* text) = nullptr;
  void (*set_stream)(void* stream, int device) = nullptr;
  void* (*pool_stream)(bool high_priority, int device) = nullptr;
  Device (*generator_device)(void* generator) = nullptr;
  void (*rethrow)() = nullptr;  // throws a KeyboardInterrupt that an operator met inside of this thread's kernel
};
Host& host();

// Whatever asks for the current CUDA stream: CuPy keeps it, and needs the GIL to tell.
template <class F> void with_gil(F&& f) {
  const Locked lock;
  f();
}

}  // namespace shim::abi
