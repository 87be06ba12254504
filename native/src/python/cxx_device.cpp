// Generators, for C++ extensions: what Python holds (shim_torch._impl.extensions.cxx_function).
#include "python/cxx_values.h"
#include "python/owned_ref.h"

using namespace shim;

namespace {

OwnedRef functions() { return owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_function")); }

uint64_t number(PyObject* o) {  // negative ones as two's complement
  const uint64_t n = PyLong_AsUnsignedLongLongMask(o);
  if (PyErr_Occurred()) throw PythonError();
  return n;
}

}  // namespace

int shim_cxx_generator(const ShimCell* generator, int what, uint64_t value, uint64_t answer[2]) {
  return kept([&] {
    CHECK(Kind::Runtime, generator->tag == SHIM_OBJECT, "Generator with undefined implementation is not allowed");
    GilAcquire gil;
    OwnedRef module = functions(), g = owned(object_of(*generator));
    const char* names[] = {"philox", "generator_device", "generator_seed"};
    OwnedRef pair = owned(PyObject_CallMethod(module, names[what], "OK", g.o, static_cast<unsigned long long>(value)));
    for (Py_ssize_t i = 0; i < 2; ++i) answer[i] = number(PyTuple_GET_ITEM(pair.o, i));
  });
}

int shim_cxx_default_generator(int32_t device_type, int32_t index, ShimCell* result) {
  return kept([&] {
    GilAcquire gil;
    OwnedRef module = functions(), device = owned(device_object(abi::make_device(device_type, index)));
    *result = cell_of_object(owned(PyObject_CallMethod(module, "default_generator", "O", device.o)));
  });
}
