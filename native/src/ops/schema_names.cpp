#include "ops/schema_names.h"

#include "core/error.h"

namespace shim {

SchemaNames schema_names(std::string_view whole) {
  const size_t open = whole.find('('), arrow = whole.rfind("->");
  CHECK(Kind::Type, open != whole.npos && arrow != whole.npos && arrow >= open, "not a schema: ", whole);
  std::string_view qualified = whole.substr(0, open);
  while (!qualified.empty() && qualified.back() == ' ') qualified.remove_suffix(1);
  const size_t colons = qualified.rfind("::");
  const std::string_view full = colons == qualified.npos ? qualified : qualified.substr(colons + 2);
  const size_t dot = full.find('.');
  SchemaNames names{colons == qualified.npos ? "aten" : qualified.substr(0, colons), full.substr(0, dot),
      full.substr(dot == full.npos ? full.size() : dot + 1), {}, {}};
  names.key = str(names.ns, "::", full);
  int depth = 0;
  size_t start = open + 1, equals = 0;
  for (size_t i = open + 1; i < arrow; ++i) {
    const char c = whole[i];
    const bool last = c == ')' && depth == 0;
    if (c == '(' || c == '[')
      ++depth;
    else if ((c == ')' || c == ']') && !last)
      --depth;
    else if (c == '=' && depth == 0)
      equals = i;
    if (!last && !(c == ',' && depth == 0)) continue;
    size_t end = equals ? equals : i;
    while (end > start && whole[end - 1] == ' ') --end;
    size_t from = end;
    while (from > start && whole[from - 1] != ' ') --from;
    if (end > from && whole[from] != '*') names.arguments.push_back(whole.substr(from, end - from));
    if (last) break;
    start = i + 1;
    equals = 0;
  }
  return names;
}

namespace {

std::string with_brackets(std::string text) {  // Dict(str, Dict(str, int)) is shown as Dict[str, Dict[str, int]]
  if (text.rfind("Dict(", 0) != 0) return text;
  for (char& c : text) c = c == '(' ? '[' : c == ')' ? ']' : c;
  return text;
}

}  // namespace

std::string jit_type(const ArgType& t) {
  static const char* names[] = {"Tensor", "number", "int", "float", "bool", "str", "int", "int", "Device", "int",
      "Generator", "Stream", "Storage", "Dimname", "Any"};
  std::string s = !t.other.empty() ? with_brackets(t.other) : t.symint ? "SymInt" : names[t.base];
  if (t.list) s = "List[" + (t.element_optional ? "Optional[" + s + "]" : s) + "]";
  return t.optional ? "Optional[" + s + "]" : s;
}

}  // namespace shim
