#pragma once
// Lazy clones: storages over one block of memory. Whoever is about to write into one gives it memory of its own before.
#include "core/tensor.h"

namespace shim {

extern bool lazy_clones;            // whether there ever was one: nothing asks before
Ref<Storage> lazy_clone(Storage&);  // the storage becomes lazy itself
bool is_lazy(const Storage&);
Tensor lazy_clone(const TensorImpl&);  // a tensor over a lazy clone of its storage
void materialize(Storage&);            // copies; the last one over the memory keeps what is there
inline void own_data(Storage& s) {     // before it is written to
  s.changed();
  if (__builtin_expect(lazy_clones, 0)) materialize(s);
}

// Memory that an array of the interpreter's stands over: where it is; resize_() may not replace it, or may again, for nobody else has it.
void* address_of(const TensorImpl&);
const Tensor& lend_memory(const Tensor&);
const Tensor& own_memory(const Tensor&);

bool in_parallel_region();  // whether this thread runs a piece of parallel_for (cpu/parallel.cpp)

}  // namespace shim
