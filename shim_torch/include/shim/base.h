#pragma once
// Errors and checks, arrays, and the standard headers that sources take for granted.
#include <algorithm>
#include <array>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <shim/c.h>
#include <shim/stamp.inc>

// A library built against another version finds no such symbol, and is refused when it is loaded.
extern "C" __attribute__((visibility("default"))) const int SHIM_CXX_STAMP;
namespace shim {
[[gnu::used]] static const int* const built_with = &SHIM_CXX_STAMP;
}

#define C10_EXPORT __attribute__((visibility("default")))
#define C10_IMPORT C10_EXPORT
#define C10_API C10_EXPORT
#define TORCH_API C10_EXPORT
#define TORCH_PYTHON_API C10_EXPORT
#define TORCH_CUDA_CPP_API C10_EXPORT
#define TORCH_CUDA_CU_API C10_EXPORT
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_RESTRICT __restrict
#define C10_STRINGIZE_(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_(x)
#define C10_CONCATENATE_(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_(a, b)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(str) C10_CONCATENATE(str, __COUNTER__)
#if defined(__CUDACC__)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif

namespace c10 {

class Error : public std::exception {
 public:
  Error(int kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const char* what_without_backtrace() const noexcept { return text_.c_str(); }
  const std::string& msg() const noexcept { return text_; }
  int shim_kind() const noexcept { return kind_; }

 private:
  int kind_;
  std::string text_;
};
template <int K> struct ErrorOf : Error {
  ErrorOf(std::string text) : Error(K, std::move(text)) {}
};
using IndexError = ErrorOf<SHIM_INDEX>;
using ValueError = ErrorOf<SHIM_VALUE>;
using TypeError = ErrorOf<SHIM_TYPE>;
using NotImplementedError = ErrorOf<SHIM_NOT_IMPLEMENTED>;
using OutOfMemoryError = ErrorOf<SHIM_OUT_OF_MEMORY>;

template <class... A> std::string str(const A&... a) {
  if constexpr (sizeof...(A) == 0) return {};
  std::ostringstream out;
  (out << ... << a);
  return out.str();
}

}  // namespace c10

namespace shim {

[[noreturn]] inline void throw_kind(int kind, const char* text) {
  switch (kind) {
    case SHIM_INDEX: throw c10::IndexError(text);
    case SHIM_VALUE: throw c10::ValueError(text);
    case SHIM_TYPE: throw c10::TypeError(text);
    case SHIM_NOT_IMPLEMENTED: throw c10::NotImplementedError(text);
    case SHIM_OUT_OF_MEMORY: throw c10::OutOfMemoryError(text);
    default: throw c10::Error(kind, text);
  }
}
[[noreturn]] inline void throw_last() {
  const char* text;
  const int kind = shim_cxx_error(&text);
  throw_kind(kind, text);
}
inline void check(int failed) {
  if (C10_UNLIKELY(failed)) throw_last();
}
template <class... A> [[noreturn]] void failed_check(int kind, const char* otherwise, const A&... a) {
  if constexpr (sizeof...(A) == 0)
    throw_kind(kind, otherwise);
  else
    throw_kind(kind, c10::str(a...).c_str());
}
// Runs f where no exception may leave; 0, or -1 with the error kept.
template <class F> int guarded(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const c10::Error& e) { shim_cxx_set_error(e.shim_kind(), e.what()); } catch (const std::out_of_range& e) {
    shim_cxx_set_error(SHIM_INDEX, e.what());
  } catch (const std::invalid_argument& e) { shim_cxx_set_error(SHIM_VALUE, e.what()); } catch (const std::bad_alloc& e) {
    shim_cxx_set_error(SHIM_OUT_OF_MEMORY, e.what());
  } catch (const std::exception& e) { shim_cxx_set_error(SHIM_RUNTIME, e.what()); } catch (...) {
    shim_cxx_set_error(SHIM_RUNTIME, "an exception that is no std::exception");
  }
  return -1;
}

}  // namespace shim

// An `if` in braces: sources leave out the semicolon.
#define SHIM_CHECK(kind, condition, ...)                                                                       \
  {                                                                                                            \
    if (C10_UNLIKELY(!(condition)))                                                                            \
      ::shim::failed_check(kind, "Expected " #condition " to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)" __VA_OPT__(,) __VA_ARGS__); \
  }
#define TORCH_CHECK(condition, ...) SHIM_CHECK(SHIM_RUNTIME, condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) SHIM_CHECK(SHIM_INDEX, condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) SHIM_CHECK(SHIM_VALUE, condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) SHIM_CHECK(SHIM_TYPE, condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) SHIM_CHECK(SHIM_NOT_IMPLEMENTED, condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), "Check failed: " #a " == " #b " (", a, " vs. ", b, "). ")
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), "Check failed: " #a " <= " #b " (", a, " vs. ", b, "). ")
#define TORCH_INTERNAL_ASSERT(condition, ...)                                                                      \
  SHIM_CHECK(SHIM_RUNTIME, condition, #condition " INTERNAL ASSERT FAILED at \"" __FILE__ "\":" C10_STRINGIZE(__LINE__) \
      ", please report a bug to PyTorch. " __VA_OPT__(,) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...)
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(,) __VA_ARGS__)
#define AT_ERROR(...) ::shim::failed_check(SHIM_RUNTIME, "" __VA_OPT__(,) __VA_ARGS__)
#define C10_THROW_ERROR(type, text) throw ::c10::type(text)
#define TORCH_WARN(...) (std::cerr << "Warning: " << ::c10::str(__VA_ARGS__) << "\n")
#define TORCH_WARN_ONCE(...)                                       \
  do {                                                             \
    static const bool told = (TORCH_WARN(__VA_ARGS__), true);      \
    (void)told;                                                    \
  } while (0)

namespace c10 {

using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::make_optional;
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
  constexpr ArrayRef(const std::initializer_list<T>& l) : data_(l.begin()), size_(l.size()) {}
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
