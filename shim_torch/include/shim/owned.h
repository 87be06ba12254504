#pragma once
// MaybeOwned: a value, or somebody else's that outlives it.
#include <shim/errors.h>

namespace c10 {

template <class T> class MaybeOwned {
 public:
  MaybeOwned() = default;
  MaybeOwned(const MaybeOwned& o) : own_(o.own_ ? std::make_shared<T>(*o) : nullptr), other_(o.other_) {}
  MaybeOwned(MaybeOwned&&) noexcept = default;
  MaybeOwned& operator=(MaybeOwned o) noexcept {
    own_ = std::move(o.own_), other_ = o.other_;
    return *this;
  }
  static MaybeOwned borrowed(const T& value) { return MaybeOwned(nullptr, &value); }
  static MaybeOwned owned(T&& value) { return MaybeOwned(std::make_shared<T>(std::move(value)), nullptr); }
  template <class... A> static MaybeOwned owned(std::in_place_t, A&&... a) {
    return MaybeOwned(std::make_shared<T>(std::forward<A>(a)...), nullptr);
  }
  const T& operator*() const& { return own_ ? *own_ : *other_; }
  T operator*() && { return own_ ? std::move(*own_) : *other_; }
  const T* operator->() const { return &**this; }
  bool unsafeIsBorrowed() const { return !own_; }

 private:
  MaybeOwned(std::shared_ptr<T> own, const T* other) : own_(std::move(own)), other_(other) {}
  std::shared_ptr<T> own_;
  const T* other_ = nullptr;
};

}  // namespace c10
