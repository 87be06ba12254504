#pragma once
// Functions of the interpreter that C++ keeps and calls without knowing what it is.
#include <functional>
#include <span>
#include <string>

#include "core/held_object.h"
#include "ops/operator.h"
#include "ops/value.h"

namespace shim {

using TakeValue = std::function<void(const Value&)>;  // of what is lent while it runs, with the interpreter's lock held

// Set by the binding when the module is loaded. An error of the interpreter's goes on as an exception.
struct InterpreterFunctions {
  void (*call)(void* function, std::span<const Value> args, const TakeValue&) = nullptr;
  void (*see)(void* object, const TakeValue&) = nullptr;         // what it is
  void* (*imported)(const char* module) = nullptr;               // the module of shim_torch._impl: a new reference
  void* (*attribute)(void* object, const char* name) = nullptr;  // a new reference
  bool (*lives)() = nullptr;                                     // false once it is gone: what it held is the system's
  std::string (*name)(void* function) = nullptr;                 // its __name__; without one, what it prints as
  void* (*record)(const Operator&) = nullptr;                    // that it was defined by, lent; null: none
  void (*read_formulas)(Operator&) = nullptr;                    // of its record's code, once that is needed
  void* (*sizes)(IntArrayRef) = nullptr;                         // as an object of the interpreter: a new reference
};
inline InterpreterFunctions interpreter_functions;

// Calls an object's method; calls a function of a module of shim_torch._impl. With the lock.
inline void call_method(void* object, const char* name, std::span<const Value> args, const TakeValue& take) {
  interpreter_functions.call(OwnedObject(interpreter_functions.attribute(object, name)).object, args, take);
}
inline void call_imported(
    const char* module, const char* function, std::span<const Value> args,
    const TakeValue& take = [](const Value&) {}) {
  call_method(OwnedObject(interpreter_functions.imported(module)).object, function, args, take);
}

inline Value held_value(void* object) {
  Value v;
  v.tag = Value::object;
  v.held = v.origin = object;
  return v;
}
inline const char* class_of(const Value& given) { return interpreter_objects.type_name(given.origin); }

}  // namespace shim
