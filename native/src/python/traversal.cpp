// What Python's cycle collector is told of tensors, nodes and what they saved.
#include "autograd/held_walk.h"
#include "python/autograd_python.h"

namespace shim {
namespace {

struct Walk {
  visitproc visit;
  void* arg;
  HeldWalk held{see, this, owner};

  static int see(void* object, void* walk) {
    const Walk& w = *static_cast<Walk*>(walk);
    return w.visit(static_cast<PyObject*>(object), w.arg);
  }
  static void* owner(const Storage& s) { return owner_of(s); }
};

}  // namespace

int visit_tensor(const TensorImpl& t, visitproc visit, void* arg) {
  if (t.use_count() != 1) return 0;
  if (!t.autograd() && !t.storage()->keeps_object()) {
    PyObject* owner = t.storage()->use_count() == 1 ? owner_of(*t.storage()) : nullptr;
    return owner ? visit(owner, arg) : 0;
  }
  Walk walk{visit, arg};
  walk.held.contents(t);
  return walk.held.run();
}

int visit_shared(Traversable* held, visitproc visit, void* arg) {
  Walk walk{visit, arg};
  walk.held.shared(held);
  return walk.held.run();
}

int visit_saved(const SavedTensor& saved, visitproc visit, void* arg) {
  Walk walk{visit, arg};
  saved.traverse(walk.held);
  return walk.held.run();
}

}  // namespace shim
