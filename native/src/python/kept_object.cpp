#include "python/kept_object.h"

#include <unordered_map>

namespace shim {
namespace {

// What keeps an object, and that. A thread without the interpreter's lock that lets go of a last reference looks here, with the
// lock, before it looks at what it had: others may have taken the object since, by a weak reference, and let go of both.
using Kept = std::unordered_map<RefCounted*, PyObject*>;
Kept& kept() {
  static auto* const all = new Kept();  // lives as long as the process: threads end after it, too
  return *all;
}

}  // namespace

bool keep_object(PyObject* self, RefCounted* held) {
  try {
    kept().emplace(held, self);
  } catch (const std::bad_alloc&) {
    PyErr_WriteUnraisable(PyErr_NoMemory());
    return false;
  }
  if (!held->keep_object()) return kept().erase(held), false;
  Py_INCREF(self);
  return true;
}

PyObject* take_object(RefCounted& held, void* object) {
  kept().erase(&held);
  held.stop_keeping();
  auto* o = static_cast<PyObject*>(object);
  may_be_finalized_again(o);
  return o;
}

// The object holds it alone from now on: until its own end, or for whom a weak reference gave it to.
bool left_alone(RefCounted* held) {
  if (!python_lives()) return false;
  GilAcquire gil;
  const auto found = kept().find(held);
  if (found != kept().end() && !held->use_count()) Py_DECREF(take_object(*held, found->second));
  return true;
}

}  // namespace shim
