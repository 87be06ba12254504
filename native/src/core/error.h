#pragma once
// One exception type for the core; its kind is the Python exception that the binding layer raises.
#include <exception>
#include <sstream>
#include <string>

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

template <class... A>
std::string str(const A&... a) {
  std::ostringstream s;
  (s << ... << a);
  return s.str();
}

template <class... A>
[[noreturn]] void fail(Kind kind, const A&... a) { throw Error(kind, str(a...)); }

}  // namespace shim

// CHECK(Kind::Type, condition, "text ", values...)
#define CHECK(kind, condition, ...) \
  do { if (__builtin_expect(!(condition), 0)) ::shim::fail(kind, __VA_ARGS__); } while (0)
