#include "core/lazy_clone.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/extent.h"

namespace shim {
namespace {

// What holds the memory for all storages over it; each of them has one reference, as its deleter's context.
struct Shared final : RefCounted {
  Ref<Storage> owner;
  explicit Shared(Ref<Storage> o) : owner(std::move(o)) {}
};

void leave(void* context, void*) { static_cast<Shared*>(context)->release(); }

Shared* shared_of(const Storage& s) { return s.deleter() == leave ? static_cast<Shared*>(s.context()) : nullptr; }

// A storage over the memory, with a reference of its own.
Ref<Storage> over(Shared* shared) {
  const Storage& owner = *shared->owner;
  Ref<Storage> s(new Storage(owner.data(), owner.nbytes(), owner.device(), leave, Ref<Shared>(shared).detach()));
  s->pinned = owner.pinned;
  return s;
}

}  // namespace

bool lazy_clones = false;

bool is_lazy(const Storage& s) { return shared_of(s) != nullptr; }

Ref<Storage> lazy_clone(Storage& s) {
  lazy_clones = true;
  if (Shared* shared = shared_of(s)) return over(shared);
  Ref<Storage> owner(new Storage(nullptr, 0, s.device(), nullptr, nullptr));
  owner->pinned = s.pinned;
  const bool resizable = s.resizable();
  owner->swap_data(s);
  Ref<Shared> shared(new Shared(owner));
  Ref<Storage> again = over(shared.get());
  s.swap_data(*again);
  s.set_resizable(resizable);
  return over(shared.get());
}

void materialize(Storage& s) {
  if (!is_lazy(s)) return;
  CHECK(Kind::Runtime, !in_parallel_region(),
      "Materializing a storage in the loop function of at::parallel_for is forbidden");
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  Shared* shared = shared_of(s);
  if (!shared) return;
  const bool resizable = s.resizable();
  if (shared->use_count() == 1) {  // nobody else looks at it
    Ref<Storage> owner = std::move(shared->owner);
    shared->owner = {};
    s.swap_data(*owner);  // what is left of the owner drops the last reference
  } else {
    Ref<Storage> fresh = allocate(s.nbytes(), s.device(), s.pinned);
    if (s.data() && s.device().is_cpu()) std::memcpy(fresh->data(), s.data(), s.nbytes());
    CHECK(Kind::NotImplemented, !s.device().is_cuda() || !s.data() || Storage::copy_device,
        "writing to a lazy clone of CUDA memory needs a driver");
    if (s.data() && s.device().is_cuda()) Storage::copy_device(fresh->data(), s.data(), s.nbytes(), s.device());
    s.replace_data(std::move(fresh));
  }
  s.set_resizable(resizable);
}

Tensor lazy_clone(const TensorImpl& t) {
  check_within(*t.storage(), t.sizes(), t.strides(), t.storage_offset(), t.itemsize());  // it may have been shrunk
  Tensor clone(new TensorImpl(lazy_clone(*t.storage()), t.dtype(), t.sizes(), t.strides(), t.storage_offset()));
  clone->is_conj = t.is_conj;
  clone->is_neg = t.is_neg;
  return clone;
}

void* address_of(const TensorImpl& t) {
  own_data(*t.storage());
  return t.data();
}

const Tensor& lend_memory(const Tensor& t) {
  own_data(*t->storage());
  t->storage()->set_resizable(false);
  return t;
}

const Tensor& own_memory(const Tensor& t) {
  t->storage()->set_resizable(true);
  if (t->device().is_cpu()) t->storage()->set_own();
  return t;
}

}  // namespace shim
