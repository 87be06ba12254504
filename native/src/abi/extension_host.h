#pragma once
// What C++ extensions (shim/c.h) leave to the interpreter, and what they give it.
#include <span>

#include "abi/library_code.h"
#include "abi/extension_cells.h"
#include "abi/extension_errors.h"

namespace shim {

// Set by the binding; each needs the interpreter's lock.
struct ExtensionHost {
  void* (*object_of)(std::shared_ptr<LibraryCode>) = nullptr;  // a new reference
  LibraryCode* (*code_in)(void* object) = nullptr;             // null: it holds none
  void (*rethrow)() = nullptr;                                 // throws this thread's last error
};
inline ExtensionHost extension_host;

// The lock, for calls of extensions.
struct HostLock {
  HostLock() { CHECK(Kind::Runtime, lock.is_there(), "the interpreter has ended"); }
  const Locked lock;
};

struct ObjectOfCode : OwnedObject {
  explicit ObjectOfCode(std::shared_ptr<LibraryCode> code) : OwnedObject(extension_host.object_of(std::move(code))) {}
  Value value() const { return held_value(object); }
};

// Registers compiled code as a kernel of the operator table.
void put_kernel(
    const std::string& qualified, const std::string& overload, const std::string& key, std::shared_ptr<LibraryCode>);

struct OwnedCells {
  std::vector<ShimCell> all;
  explicit OwnedCells(size_t n = 0) : all(n) {}
  OwnedCells(const OwnedCells&) = delete;
  ~OwnedCells() { shim_cxx_release(all.data(), all.size()); }
};

// Calls an extension's function, the interpreter's lock let go of.
void call_extension(ShimKernel, void* context, const OwnedCells& given, OwnedCells& results);

// A torch::autograd::Function of an extension. `ctx` is the interpreter's, of one call.
class ExtensionFunction final : public LibraryCode {
 public:
  ExtensionFunction(const ShimFunction* functions, void* state) : functions_(functions), state_(state) {}
  ~ExtensionFunction() override { functions_->destroy(state_); }
  std::string name() const override { return str("<autograd function ", functions_->name, ">"); }
  std::vector<Tensor> forward(void* ctx) const;
  std::vector<Tensor> backward(void* ctx, std::span<const Tensor> grads) const;

 private:
  const ShimFunction* functions_;
  void* state_;
};

}  // namespace shim
