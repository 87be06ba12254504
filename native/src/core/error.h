#pragma once
// One exception type for the core; its kind is the Python exception that the binding layer raises.
#include <exception>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace shim {

enum class Kind { Runtime, Type, Value, Index, NotImplemented, OutOfMemory, Attribute, Overflow, Assertion, Buffer, ZeroDivision };

class Error : public std::exception {
 public:
  Error(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
  std::string text_;
};

// Text without iostreams: those look their facets up in the locale, which crashes in processes where another library
// brings a C++ runtime of its own (seen with a CUDA driver).
inline void append(std::string& s, std::string_view v) { s += v; }
inline void append(std::string& s, char c) { s += c; }
template <class T> requires std::is_integral_v<T>
void append(std::string& s, T v) { s += std::to_string(v); }
template <class T> requires std::is_floating_point_v<T>
void append(std::string& s, T v) {
  char text[48];
  s.append(text, size_t(snprintf(text, sizeof text, "%g", double(v))));
}
template <class... A>
std::string str(const A&... a) {
  std::string s;
  (append(s, a), ...);
  return s;
}

template <class... A>
[[noreturn]] void fail(Kind kind, const A&... a) { throw Error(kind, str(a...)); }

}  // namespace shim

// CHECK(Kind::Type, condition, "text ", values...)
#define CHECK(kind, condition, ...) \
  do { if (__builtin_expect(!(condition), 0)) ::shim::fail(kind, __VA_ARGS__); } while (0)
