#pragma once
// The tokens of a schema's text: words, numbers and quoted strings.
#include <cctype>
#include <cstdlib>
#include <map>
#include <string>

#include "core/error.h"
#include "ops/schema.h"

namespace shim {

inline const std::map<std::string, ArgType::Base>& schema_type_names() {
  static const std::map<std::string, ArgType::Base> names = {{"Tensor", ArgType::Base::Tensor},
      {"Scalar", ArgType::Base::Scalar}, {"number", ArgType::Base::Scalar}, {"int", ArgType::Base::Int},
      {"SymInt", ArgType::Base::Int}, {"float", ArgType::Base::Float}, {"bool", ArgType::Base::Bool},
      {"str", ArgType::Base::Str}, {"ScalarType", ArgType::Base::ScalarType}, {"Layout", ArgType::Base::Layout},
      {"Device", ArgType::Base::Device}, {"MemoryFormat", ArgType::Base::MemoryFormat},
      {"Generator", ArgType::Base::Generator}, {"Stream", ArgType::Base::Stream}, {"Storage", ArgType::Base::Storage},
      {"Dimname", ArgType::Base::Dimname}, {"Any", ArgType::Base::Any}};
  return names;
}

// Words that stand for numbers in defaults.
inline const std::map<std::string, int64_t>& schema_constants() {
  static const std::map<std::string, int64_t> words = {{"Mean", 1}, {"contiguous_format", 0}, {"preserve_format", 1},
      {"strided", 0}, {"long", 4}, {"float", 6}, {"double", 7}, {"int", 3}, {"bool", 11}, {"half", 5}, {"short", 2},
      {"uint8", 0}, {"int8", 1}, {"int16", 2}, {"int32", 3}, {"int64", 4}, {"float16", 5}, {"float32", 6},
      {"float64", 7}, {"complex64", 9}, {"complex128", 10}, {"bfloat16", 15}, {"byte", 0}, {"char", 1},
      {"complex32", 8}, {"float8_e5m2", 23}, {"float8_e4m3fn", 24}, {"float8_e5m2fnuz", 25}, {"float8_e4m3fnuz", 26},
      {"uint16", 27}, {"uint32", 28}, {"uint64", 29}, {"float8_e8m0fnu", 44}, {"float4_e2m1fn_x2", 45}};
  return words;
}

class SchemaLexer {
 protected:
  explicit SchemaLexer(const std::string& text) : text_(text) {}

  [[noreturn]] void error(const std::string& what) {
    fail(Kind::Runtime, what, ":\n", text_, "\n", std::string(std::min(at_, text_.size()), ' '), "~ <--- HERE");
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool peek(const char* token) {
    blanks();
    return text_.compare(at_, std::char_traits<char>::length(token), token) == 0;
  }
  bool take(const char* token) {
    if (!peek(token)) return false;
    at_ += std::char_traits<char>::length(token);
    return true;
  }
  void expect(const char* token) {
    if (!take(token)) error(str("expected '", token, "' here"));
  }
  static bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
  std::string word() {
    blanks();
    size_t start = at_;
    while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::string needed_word(const char* what) {
    std::string w = word();
    if (w.empty()) error(str("expected ", what, " here"));
    return w;
  }

  size_t closing(size_t open) {
    const size_t end = matching(open);
    if (end == text_.size()) error("a parenthesis is not closed");
    return end;
  }
  size_t matching(size_t open) {
    int depth = 0;
    for (size_t i = open; i < text_.size(); ++i) {
      if (text_[i] == '(') ++depth;
      if (text_[i] == ')' && --depth == 0) return i;
    }
    return text_.size();
  }

  std::string quoted() {
    const char quote = text_[at_++];
    std::string s;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        static const std::string from = "ntrfvab0", to = std::string("\n\t\r\f\v\a\b") + '\0';
        size_t k = from.find(c);
        if (k != std::string::npos) c = to[k];
      }
      s += c;
    }
    if (at_ >= text_.size()) error("the string does not end");
    ++at_;
    return s;
  }

  // A number as int64 or, if it has a point or exponent or `as_float`, double.
  Default::Value number(bool as_float) {
    blanks();
    size_t end = at_;
    if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
    bool real = as_float;
    size_t digits = end;
    while (end < text_.size()) {
      char c = text_[end];
      if (c == '.' || c == 'e' || c == 'E')
        real = true;
      else if ((c == '-' || c == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E')) {
      } else if (!std::isdigit(static_cast<unsigned char>(c)))
        break;
      ++end;
    }
    if (end == digits) error("invalid numeric default value");
    std::string part = text_.substr(at_, end - at_);
    at_ = end;
    if (real) return std::strtod(part.c_str(), nullptr);
    return int64_t(std::strtoll(part.c_str(), nullptr, 10));
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace shim
