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
    const int32_t left = --refs_;  // and not fetch_sub(), where the compiler looks at what was: this is one instruction
    if (left > 0) return;
    left == 0 ? const_cast<RefCounted*>(this)->destroy() : const_cast<RefCounted*>(this)->released(left);
  }
  // Takes a reference through a pointer that is none; false where the last one is gone, so that the object is being destroyed.
  // The caller makes sure that its memory is not freed meanwhile.
  bool retain_if_there() const noexcept {
    int32_t n = refs_.load(std::memory_order_relaxed);
    while (n && !refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) {}
    return n;
  }
  uint32_t use_count() const noexcept { return uint32_t(refs_.load(std::memory_order_acquire)) & ~uint32_t(kKeeps); }

  // Whether this object owns its Python object, and not the other way round. Weak references may give that object to any thread,
  // which may take and drop a reference after the last one was counted down: released() asks the binding (left_alone), without
  // reading this object, whose memory may be freed by then.
  bool keeps_object() const noexcept { return refs_.load(std::memory_order_relaxed) < 0; }
  // The Python object's reference to this object is dropped, and this object owns the Python object from now on. False, and nothing
  // changes, where that reference is the only one.
  bool keep_object() noexcept {
    if (refs_.fetch_add(kKeep, std::memory_order_acq_rel) > 1) return true;
    stop_keeping();
    return false;
  }
  void stop_keeping() noexcept { refs_.fetch_sub(kKeep, std::memory_order_acq_rel); }
  // Set by the binding; called, on any thread, when the last reference went: the Python object may still lead here. False: the
  // interpreter is gone.
  static inline bool (*left_alone)(RefCounted*) = nullptr;

 protected:
  virtual void destroy() { delete this; }  // a pooled class returns itself to its pool instead

 private:
  static constexpr int32_t kKeeps = INT32_MIN, kKeep = INT32_MAX;  // the sign bit; adding kKeep sets it and drops one
  void released(int32_t left);
  mutable std::atomic<int32_t> refs_{0};  // negative: of an object that keeps its object
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
