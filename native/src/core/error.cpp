#include "core/error.h"

#include <cstdio>

namespace shim {

void TextPart::append_to(std::string& s) const {
  switch (form_) {
    case Form::text: s += text_; break;
    case Form::character: s += char(whole_); break;
    case Form::whole: s += std::to_string(whole_); break;
    case Form::natural: s += std::to_string(uint64_t(whole_)); break;
    case Form::real: {
      char text[48];
      s.append(text, size_t(snprintf(text, sizeof text, "%g", real_)));
    }
  }
}

std::string joined(std::initializer_list<TextPart> parts) {
  std::string s;
  for (const TextPart& p : parts) p.append_to(s);
  return s;
}

void fail_with(Kind kind, std::initializer_list<TextPart> parts) { throw Error(kind, joined(parts)); }

}  // namespace shim
