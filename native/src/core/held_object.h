#pragma once
// Objects of the interpreter that C++ keeps without knowing them: generators, constants of a trace.
#include "core/refcount.h"

namespace shim {

// Set by the binding when the module is loaded. `release` is for any thread, also while the interpreter ends.
struct InterpreterObjects {
  void (*retain)(void*) = nullptr;
  void (*release)(void*) = nullptr;
  const char* (*type_name)(void*) = nullptr;
};
inline InterpreterObjects interpreter_objects;

struct OwnedObject {  // a new reference that was given
  explicit OwnedObject(void* o) : object(o) {}
  OwnedObject(const OwnedObject&) = delete;
  ~OwnedObject() { interpreter_objects.release(object); }
  void* const object;
};

class HeldObject final : public RefCounted {
 public:
  explicit HeldObject(void* o) : object(o) { interpreter_objects.retain(o); }
  ~HeldObject() override { interpreter_objects.release(object); }
  void* const object;
};

}  // namespace shim
