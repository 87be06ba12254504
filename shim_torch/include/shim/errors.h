#pragma once
// Errors and checks, and the standard headers that sources take for granted.
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

struct SourceLocation {
  const char *function, *file;
  uint32_t line;
};
class Error : public std::exception {
 public:
  Error(int kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  Error(SourceLocation, std::string text) : Error(SHIM_RUNTIME, std::move(text)) {}
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
  ErrorOf(SourceLocation, std::string text) : Error(K, std::move(text)) {}
};
using IndexError = ErrorOf<SHIM_INDEX>;
using ValueError = ErrorOf<SHIM_VALUE>;
using TypeError = ErrorOf<SHIM_TYPE>;
using NotImplementedError = ErrorOf<SHIM_NOT_IMPLEMENTED>;
using OutOfMemoryError = ErrorOf<SHIM_OUT_OF_MEMORY>;
using LinAlgError = ErrorOf<SHIM_LINALG>;
struct AcceleratorError : Error {  // of the device's driver: its error's number
  AcceleratorError(SourceLocation, int code, std::string text) : Error(SHIM_ACCELERATOR + code, std::move(text)) {}
  int get_error_code() const { return shim_kind() - SHIM_ACCELERATOR; }
};

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
    case SHIM_LINALG: throw c10::LinAlgError(text);
    default:
      if (kind >= SHIM_ACCELERATOR) throw c10::AcceleratorError({}, kind - SHIM_ACCELERATOR, text);
      throw c10::Error(kind, text);
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
template <class T> T& not_null(T&& pointer, const char* text) {
  if (pointer == nullptr)
    throw_kind(SHIM_RUNTIME, ("Check failed: '" + std::string(text) + "' must be non NULL").c_str());
  return pointer;
}
// Runs f where no exception may leave; 0, or -1 with the error kept.
template <class F> int guarded(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const c10::Error& e) { shim_cxx_set_error(e.shim_kind(), e.what()); } catch (const std::out_of_range& e) {
    shim_cxx_set_error(SHIM_INDEX, e.what());
  } catch (const std::invalid_argument& e) {
    shim_cxx_set_error(SHIM_VALUE, e.what());
  } catch (const std::bad_alloc& e) {
    shim_cxx_set_error(SHIM_OUT_OF_MEMORY, e.what());
  } catch (const std::exception& e) { shim_cxx_set_error(SHIM_RUNTIME, e.what()); } catch (...) {
    shim_cxx_set_error(SHIM_RUNTIME, "an exception that is no std::exception");
  }
  return -1;
}

}  // namespace shim

// An `if` in braces: sources leave out the semicolon.
#define SHIM_CHECK(kind, condition, ...)                                                                               \
  {                                                                                                                    \
    if (C10_UNLIKELY(!(condition)))                                                                                    \
      ::shim::failed_check(kind, "Expected " #condition                                                                \
                                 " to be true, but got false.  (Could this error message be improved?  If so, please " \
                                 "report an enhancement request to PyTorch.)" __VA_OPT__(, ) __VA_ARGS__);             \
  }
#define TORCH_CHECK(condition, ...) SHIM_CHECK(SHIM_RUNTIME, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) SHIM_CHECK(SHIM_INDEX, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) SHIM_CHECK(SHIM_VALUE, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) SHIM_CHECK(SHIM_TYPE, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  SHIM_CHECK(SHIM_NOT_IMPLEMENTED, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) SHIM_CHECK(SHIM_LINALG, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOTNULL(pointer) ::shim::not_null(pointer, #pointer)
#define TORCH_INTERNAL_ASSERT(condition, ...)             \
  SHIM_CHECK(SHIM_RUNTIME, condition,                     \
      #condition " INTERNAL ASSERT FAILED at \"" __FILE__ \
                 "\":" C10_STRINGIZE(__LINE__) ", please report a bug to PyTorch. " __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...)
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) ::shim::failed_check(SHIM_RUNTIME, "" __VA_OPT__(, ) __VA_ARGS__)
#define C10_THROW_ERROR(type, text) throw ::c10::type({__func__, __FILE__, uint32_t(__LINE__)}, text)
#define TORCH_WARN(...) (std::cerr << "Warning: " << ::c10::str(__VA_ARGS__) << "\n")
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                  \
  do {                                                        \
    static const bool told = (TORCH_WARN(__VA_ARGS__), true); \
    (void)told;                                               \
  } while (0)
