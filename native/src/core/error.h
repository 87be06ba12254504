#pragma once
// One exception type for the core; its kind is the Python exception that the binding layer raises.
#include <exception>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace shim {

enum class Kind {
  Runtime,
  Type,
  Value,
  Index,
  NotImplemented,
  OutOfMemory,
  Attribute,
  Overflow,
  Assertion,
  Buffer,
  ZeroDivision,
  Memory,
  Accelerator  // of a device's driver: its error's number is the code
};

class Error : public std::exception {
 public:
  Error(Kind kind, std::string text, int code = 0) : kind_(kind), code_(code), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  Kind kind() const noexcept { return kind_; }
  int code() const noexcept { return code_; }

 private:
  Kind kind_;
  int code_;
  std::string text_;
};

// Text without iostreams: those look their facets up in the locale, which crashes in processes where another library
// brings a C++ runtime of its own (seen with a CUDA driver). A part is a text or a number, so that one function puts them all together
// and no call has one of its own made for its types.
class TextPart {
 public:
  TextPart(const char* s) : text_(s) {}
  TextPart(std::string_view s) : text_(s) {}
  TextPart(const std::string& s) : text_(s) {}
  TextPart(char c) : form_(Form::character), whole_(c) {}
  template <class T>
    requires std::is_integral_v<T>
  TextPart(T v) : form_(std::is_signed_v<T> ? Form::whole : Form::natural), whole_(int64_t(v)) {}
  template <class T>
    requires std::is_floating_point_v<T>
  TextPart(T v) : form_(Form::real), real_(double(v)) {}
  void append_to(std::string&) const;

 private:
  enum class Form : uint8_t { text, character, whole, natural, real } form_ = Form::text;
  union {
    std::string_view text_;
    int64_t whole_;
    double real_;
  };
};
std::string joined(std::initializer_list<TextPart>);
[[noreturn]] void fail_with(Kind, std::initializer_list<TextPart>);

template <class... A> inline std::string str(const A&... a) { return joined({TextPart(a)...}); }
template <class... A> [[noreturn]] inline void fail(Kind kind, const A&... a) { fail_with(kind, {TextPart(a)...}); }

}  // namespace shim

// CHECK(Kind::Type, condition, "text ", values...)
#define CHECK(kind, condition, ...)                                                \
  do {                                                                             \
    if (__builtin_expect(!(condition), 0)) ::shim::fail_with(kind, {__VA_ARGS__}); \
  } while (0)
