#pragma once
// A list of plain data that needs no allocation for its first N items.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace shim {

template <class T, size_t N> class Few {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  Few() = default;
  Few(const Few&) = delete;
  void push_back(const T& item) {
    if (size_ == room_) grow();
    items_[size_++] = item;
  }
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  const T* data() const { return items_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  const T& operator[](size_t i) const { return items_[i]; }
  T& operator[](size_t i) { return items_[i]; }
  operator std::span<const T>() const { return {items_, size_}; }

 private:
  [[gnu::noinline]] void grow() {
    auto more = std::make_unique<std::byte[]>(2 * room_ * sizeof(T));
    std::copy_n(items_, size_, reinterpret_cast<T*>(more.get()));
    room_ *= 2;
    items_ = reinterpret_cast<T*>((many_ = std::move(more)).get());
  }
  alignas(T) std::byte few_[N * sizeof(T)];
  std::unique_ptr<std::byte[]> many_;
  T* items_ = reinterpret_cast<T*>(few_);
  size_t size_ = 0, room_ = N;
};

}  // namespace shim
