#pragma once
// Intrusive, thread-safe reference counting. Handles may be dropped from any thread, without the GIL.
#include <atomic>
#include <cstdint>
#include <utility>

namespace shim {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;
  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) const_cast<RefCounted*>(this)->destroy();
  }
  uint32_t use_count() const noexcept { return refs_.load(std::memory_order_acquire); }

 protected:
  virtual void destroy() { delete this; }  // a pooled class returns itself to its pool instead

 private:
  mutable std::atomic<uint32_t> refs_{0};
};

// A shared pointer of one word. Ref(p) retains p; Ref::adopt takes over a reference already counted.
template <class T> class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  template <class U> Ref(const Ref<U>& o) : p_(o.get()) {
    if (p_) p_->retain();
  }
  ~Ref() {
    if (p_) p_->release();
  }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  bool operator==(const Ref& o) const noexcept { return p_ == o.p_; }
  T* detach() noexcept {
    T* p = p_;
    p_ = nullptr;
    return p;
  }
  void reset() { *this = Ref(); }

 private:
  T* p_ = nullptr;
};

template <class T, class... A> Ref<T> make(A&&... a) { return Ref<T>(new T(std::forward<A>(a)...)); }

}  // namespace shim
