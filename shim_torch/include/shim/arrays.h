#pragma once
// Arrays, lists and ranges.
#include <shim/logging.h>

namespace c10 {

using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;
template <class T> using intrusive_ptr = std::shared_ptr<T>;
template <class T, class... A> std::shared_ptr<T> make_intrusive(A&&... a) {
  return std::make_shared<T>(std::forward<A>(a)...);
}
template <class T, unsigned N = 0> using SmallVector = std::vector<T>;

// A borrowed array. One element makes one too, and a list in braces, for as long as the call.
template <class T> class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(size_t(end - begin)) {}
  template <class A> ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
    static_assert(!std::is_same_v<T, bool>, "an ArrayRef of std::vector<bool>");
  }
  template <size_t N> constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N> constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& l) : data_(l.begin()), size_(l.size()) {}
#pragma GCC diagnostic pop
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    TORCH_CHECK_INDEX(i < size_, "ArrayRef: invalid index Index = ", i, "; Length = ", size_);
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  ArrayRef slice(size_t from, size_t n) const {
    TORCH_CHECK(from + n <= size_, "ArrayRef: invalid slice, N = ", from, "; M = ", n, "; size = ", size_);
    return {data_ + from, n};
  }
  ArrayRef slice(size_t from) const { return slice(from, size_ - from); }
  bool equals(ArrayRef o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }
  std::vector<T> vec() const { return {begin(), end()}; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
template <class T> bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <class T> bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <class T> bool operator==(const std::vector<T>& a, ArrayRef<T> b) { return ArrayRef<T>(a).equals(b); }
template <class T> bool operator==(ArrayRef<T> a, const std::vector<T>& b) { return a.equals(b); }
template <class T> bool operator!=(const std::vector<T>& a, ArrayRef<T> b) { return !ArrayRef<T>(a).equals(b); }
template <class T> bool operator!=(ArrayRef<T> a, const std::vector<T>& b) { return !a.equals(b); }
template <class T> std::ostream& operator<<(std::ostream& out, ArrayRef<T> a) {
  out << "[";
  for (size_t i = 0; i < a.size(); ++i) out << (i ? ", " : "") << a[i];
  return out << "]";
}
using IntArrayRef = ArrayRef<int64_t>;
using SymIntArrayRef = IntArrayRef;
using SymInt = int64_t;
using IntList = IntArrayRef;

template <class T> class OptionalArrayRef {
 public:
  OptionalArrayRef() = default;
  OptionalArrayRef(std::nullopt_t) {}
  OptionalArrayRef(ArrayRef<T> a) : value_(a) {}
  OptionalArrayRef(const std::optional<ArrayRef<T>>& a) : value_(a) {}
  OptionalArrayRef(const std::initializer_list<T>& l) : value_(ArrayRef<T>(l)) {}
  OptionalArrayRef(const std::vector<T>& v) : value_(ArrayRef<T>(v)) {}
  OptionalArrayRef(const std::optional<std::vector<T>>& v) {
    if (v) value_ = ArrayRef<T>(*v);
  }
  template <size_t N> OptionalArrayRef(const std::array<T, N>& a) : value_(ArrayRef<T>(a)) {}
  OptionalArrayRef(const T& one) : value_(ArrayRef<T>(one)) {}
  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const ArrayRef<T>& value() const { return value_.value(); }
  const ArrayRef<T>& operator*() const { return *value_; }
  const ArrayRef<T>* operator->() const { return &*value_; }

 private:
  std::optional<ArrayRef<T>> value_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

template <class T> class List {  // shared, as PyTorch's
 public:
  using value_type = T;
  List() : values_(std::make_shared<std::vector<T>>()) {}
  List(std::initializer_list<T> l) : values_(std::make_shared<std::vector<T>>(l)) {}
  explicit List(ArrayRef<T> a) : values_(std::make_shared<std::vector<T>>(a.begin(), a.end())) {}
  explicit List(std::vector<T> v) : values_(std::make_shared<std::vector<T>>(std::move(v))) {}
  size_t size() const { return values_->size(); }
  bool empty() const { return values_->empty(); }
  T get(size_t i) const { return values_->at(i); }
  T extract(size_t i) const { return values_->at(i); }
  void set(size_t i, T value) const { values_->at(i) = std::move(value); }
  T operator[](size_t i) const { return values_->at(i); }
  void push_back(T value) const { values_->push_back(std::move(value)); }
  template <class... A> void emplace_back(A&&... a) const { values_->emplace_back(std::forward<A>(a)...); }
  void reserve(size_t n) const { values_->reserve(n); }
  void clear() const { values_->clear(); }
  auto begin() const { return values_->begin(); }
  auto end() const { return values_->end(); }
  std::vector<T> vec() const { return *values_; }

 private:
  std::shared_ptr<std::vector<T>> values_;
};

template <class I> class IntegerRange {
 public:
  struct iterator {
    I i;
    I operator*() const { return i; }
    iterator& operator++() {
      ++i;
      return *this;
    }
    bool operator!=(const iterator& o) const { return i != o.i; }
    bool operator==(const iterator& o) const { return i == o.i; }
  };
  IntegerRange(I from, I to) : from_(from), to_(to < from ? from : to) {}
  iterator begin() const { return {from_}; }
  iterator end() const { return {to_}; }

 private:
  I from_, to_;
};
template <class A, class B> IntegerRange<B> irange(A from, B to) { return {B(from), to}; }
template <class B> IntegerRange<B> irange(B to) { return {B(0), to}; }
template <class C> int64_t multiply_integers(const C& c) {
  return std::accumulate(c.begin(), c.end(), int64_t(1), std::multiplies<int64_t>());
}

class OptionalLocked {  // the GIL is released for as long as this lives, where the thread holds it
 public:
  OptionalLocked() : was_(shim_cxx_unlock()) {}
  OptionalLocked(const OptionalLocked&) = delete;
  ~OptionalLocked() { shim_cxx_lock(was_); }

 private:
  void* was_;
};

}  // namespace c10

namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
}
