#pragma once
// The tokens of a schema's text: words, numbers and quoted strings.
#include <cctype>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "ops/schema.h"

namespace shim {

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
