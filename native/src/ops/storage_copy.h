#pragma once
// Copies of whole storages. A wrapper subclass's storage has a size and no memory: RuntimeErrors say so.
#include "core/tensor.h"

namespace shim {

inline bool without_memory(const Storage& s) { return s.nbytes() && !s.data(); }  // bytes that nobody has allocated
void check_memory(const Storage&, const char* wanted);  // "call copy_()": what cannot be done without
Ref<Storage> copy_of(Storage&, Device);
Ref<Storage> storage_on(Storage&, Device);  // itself where it is there
void copy_bytes(Storage& to, Storage& from, bool non_blocking);
// To each byte from `start` to `stop`, `step` apart.
void fill_bytes(Storage&, int64_t start, int64_t stop, uint8_t value);

}  // namespace shim
