#include "core/weak_storage.h"

#include <mutex>
#include <unordered_map>

namespace shim {

namespace {

std::mutex& weak_mutex() {
  static std::mutex m;
  return m;
}

std::unordered_map<Storage*, WeakStorage*>& watched() {
  static auto* table = new std::unordered_map<Storage*, WeakStorage*>;
  return *table;
}

}  // namespace

void WeakStorage::watch() {
  Storage* s = storage_;
  const bool resizable = s->resizable();
  Ref<Storage> memory(new Storage(s->data(), s->nbytes(), s->device(), expire, this));
  s->swap_data(*memory);
  s->set_resizable(resizable);
  memory_ = std::move(memory);
}

void WeakStorage::expire(void* context, void*) {  // the deleter of a watched storage
  auto* weak = static_cast<WeakStorage*>(context);
  Ref<Storage> memory;
  std::lock_guard guard(weak_mutex());
  memory = std::move(weak->memory_);
  if (weak->storage_->use_count()) return weak->watch();  // it got other memory, by a resize
  watched().erase(weak->storage_);
  weak->storage_ = nullptr;
  if (!weak->count_) delete weak;
}

WeakStorage* WeakStorage::of(Storage& s) {
  std::lock_guard guard(weak_mutex());
  WeakStorage*& weak = watched()[&s];
  if (!weak) {
    weak = new WeakStorage(&s);
    weak->watch();
  }
  ++weak->count_;
  return weak;
}

Ref<Storage> WeakStorage::storage() const {
  std::lock_guard guard(weak_mutex());  // for which a storage that goes waits before its memory is freed
  return storage_ && storage_->retain_if_there() ? Ref<Storage>::adopt(storage_) : Ref<Storage>();
}

void WeakStorage::drop() {
  std::lock_guard guard(weak_mutex());
  if (!--count_ && !storage_) delete this;  // of a living storage it stays for the next one
}

}  // namespace shim
