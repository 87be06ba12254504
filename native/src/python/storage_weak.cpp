// Weak references to storages: the memory is handed to a keeper, whose end is the storage's.
#include <mutex>
#include <unordered_map>

#include "ops/kernels.h"
#include "python/storage.h"
#include "python/tensor_type.h"

namespace shim {

namespace {

struct Weak {
  Storage* storage;  // null: expired
  size_t count;
  Ref<Storage> memory;  // the keeper of the memory and of how it is freed
};

std::mutex& weak_mutex() {
  static std::mutex m;
  return m;
}

std::unordered_map<Storage*, Weak*>& watched() {
  static auto* table = new std::unordered_map<Storage*, Weak*>;
  return *table;
}

void expire(void* context, void*);

void watch(Storage* s, Weak* weak) {
  const bool resizable = s->resizable();
  Ref<Storage> memory(new Storage(s->data(), s->nbytes(), s->device(), expire, weak));
  s->swap_data(*memory);
  s->set_resizable(resizable);
  weak->memory = std::move(memory);
}

void expire(void* context, void*) {  // the deleter of a watched storage
  auto* weak = static_cast<Weak*>(context);
  Ref<Storage> memory;
  std::lock_guard guard(weak_mutex());
  memory = std::move(weak->memory);
  if (weak->storage->use_count()) {  // it got other memory, by a resize
    watch(weak->storage, weak);
    return;
  }
  watched().erase(weak->storage);
  weak->storage = nullptr;
  if (!weak->count) delete weak;
}

}  // namespace

PyObject* storage_weak_ref(PyObject* self, PyObject*) {
  Storage* s = storage_in(self);
  if (s->device().type != DeviceType::cpu &&
      s->device().type != DeviceType::meta)  // the allocator of devices knows its blocks by their deleter
    return PyErr_Format(
        PyExc_NotImplementedError, "torch.UntypedStorage._weak_ref is not supported by shim-torch for memory of a GPU");
  std::lock_guard guard(weak_mutex());
  Weak*& weak = watched()[s];
  if (!weak) {
    weak = new Weak{s, 0, {}};
    watch(s, weak);
  }
  ++weak->count;
  return PyLong_FromVoidPtr(weak);
}

namespace {

bool weak_given(PyObject* number, void** weak) {
  *weak = PyLong_AsVoidPtr(number);
  return *weak || !PyErr_Occurred();
}

}  // namespace

PyObject* storage_weak_expired(PyObject*, PyObject* number) {
  void* weak;
  return weak_given(number, &weak) ? PyBool_FromLong(static_cast<Weak*>(weak)->storage == nullptr) : nullptr;
}

PyObject* storage_weak_drop(PyObject*, PyObject* number) {
  void* weak;
  if (!weak_given(number, &weak)) return nullptr;
  std::lock_guard guard(weak_mutex());
  auto* w = static_cast<Weak*>(weak);
  if (!--w->count && !w->storage) delete w;  // of a living storage it stays for the next one
  Py_RETURN_NONE;
}

PyObject* storage_from_weak(PyObject*, PyObject* number) {  // the storage, None once it is gone
  void* weak;
  if (!weak_given(number, &weak)) return nullptr;
  Storage* s = static_cast<Weak*>(weak)->storage;
  if (!s) Py_RETURN_NONE;
  return storage_object(Ref<Storage>(s));
}

}  // namespace shim
