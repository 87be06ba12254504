#pragma once
// The sort of a few numbers, as a tensor's dims are.
#include <utility>

namespace shim {

// Keeps the order of equal ones. std::stable_sort allocates, and is ten times as much code wherever it stands.
template <class T, class Before> void sort_few(T* first, T* last, Before before) {
  for (T* next = first; next < last; ++next) {
    T value = std::move(*next);
    T* to = next;
    for (; to > first && before(value, to[-1]); --to) *to = std::move(to[-1]);
    *to = std::move(value);
  }
}

}  // namespace shim
