#pragma once
#include "core/storage.h"

namespace shim {

// A weak reference to a storage, counted by who holds it: the memory is handed to a keeper, whose end is the storage's.
// Not of a GPU's memory, whose allocator knows its blocks by their deleter.
class WeakStorage {
 public:
  static WeakStorage* of(Storage&);  // one a storage; counts one holder more
  void drop();                       // counts one less; the last one of a storage that is gone frees it
  Ref<Storage> storage() const;      // null: it is gone

 private:
  explicit WeakStorage(Storage* s) : storage_(s) {}
  void watch();
  static void expire(void* context, void*);
  Storage* storage_;
  size_t count_ = 0;
  Ref<Storage> memory_;  // the keeper of the memory and of how it is freed
};

}  // namespace shim
