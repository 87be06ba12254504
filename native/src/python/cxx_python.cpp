// What C++ extensions leave to Python: functions of shim_torch._impl.extensions.cxx_calls, and C++ functions as Python's.
#include <memory>
#include <vector>

#include "python/cxx_values.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

constexpr const char* holder_name = "shim_cxx_holder";

struct Callable {
  ShimKernel kernel;
  void* context;
  void (*destroy)(void*);
  ~Callable() {
    if (destroy) destroy(context);
  }
};

void drop_callable(PyObject* capsule) { delete static_cast<Callable*>(PyCapsule_GetPointer(capsule, nullptr)); }

PyObject* run_callable(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    auto* c = static_cast<Callable*>(PyCapsule_GetPointer(self, nullptr));
    Cells given, result(1);
    for (Py_ssize_t i = 0; i < n; ++i) given.all.push_back(cell_of_object(args[i]));
    call_extension(c->kernel, c->context, given, result);
    return object_of(result.all[0]);
  });
}

PyMethodDef callable_method = raw_function("callable", run_callable, "A function of a C++ extension.");

}  // namespace

PyObject* object_of(const ShimCell& c, const ArgType* wanted) {
  if (c.tag != SHIM_LIST) {
    ValueRoom room;
    return object_of(value_in(c, room, wanted));
  }
  const auto one = [&](size_t i) { return object_of(static_cast<const ShimCell*>(c.p)[i]); };
  return owned(c.im == SHIM_TUPLE ? tuple_by(c.n, one) : list_by(c.n, one)).give();
}

}  // namespace shim

using namespace shim;

int shim_cxx_python(const char* name, const ShimCell* args, size_t n, ShimCell* result) {
  return kept([&] {
    CHECK(Kind::Runtime, python_lives(), "the interpreter has ended");
    GilAcquire gil;
    OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_calls"));
    OwnedRef function = owned(PyObject_GetAttrString(module, name));
    OwnedRef given = owned(tuple_by(n, [&](size_t i) { return object_of(args[i]); }));
    OwnedRef value = owned(PyObject_Call(function, given, nullptr));
    *result = cell_of_object(value);
  });
}

int shim_cxx_callable(ShimKernel kernel, void* context, void (*destroy)(void*), ShimCell* result) {
  std::unique_ptr<Callable> held(new Callable{kernel, context, destroy});
  return kept([&] {
    GilAcquire gil;
    OwnedRef capsule = owned(PyCapsule_New(held.get(), nullptr, drop_callable));
    held.release();
    *result = cell_of_object(owned(PyCFunction_New(&callable_method, capsule)));
  });
}

int shim_cxx_holder(void* holder, void (*destroy)(void*), const char* kind, ShimCell* result) {
  return kept([&] {
    GilAcquire gil;
    OwnedRef capsule = owned(PyCapsule_New(holder, holder_name, [](PyObject* o) {
      auto drop = reinterpret_cast<void (*)(void*)>(PyCapsule_GetContext(o));
      drop(PyCapsule_GetPointer(o, holder_name));
    }));
    if (PyCapsule_SetContext(capsule, reinterpret_cast<void*>(destroy)) < 0) throw PythonError();
    OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_classes"));
    *result = cell_of_object(owned(PyObject_CallMethod(module, "instance", "sO", kind, capsule.o)));
  });
}

int shim_cxx_held(const ShimCell* object, const char* kind, void** holder) {
  return kept([&] {
    GilAcquire gil;
    OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_classes"));
    OwnedRef given = owned(object_of(*object));
    OwnedRef capsule = owned(PyObject_CallMethod(module, "holder_of", "sO", kind, given.o));
    *holder = PyCapsule_GetPointer(capsule, holder_name);
    if (!*holder) throw PythonError();
  });
}
