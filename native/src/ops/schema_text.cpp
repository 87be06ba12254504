// The normal form of a schema: what PyTorch prints for op._schema.
#include <cmath>
#include <cstdio>

#include "ops/schema.h"

namespace shim {
namespace {

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string s;
  for (size_t i = 0; i < names.size(); ++i) s += (i ? between : "") + names[i];
  return s;
}

std::string alias_text(const std::optional<Alias>& a) {
  if (!a || a->before.empty()) return "";
  std::string s = "(" + joined(a->before, "|") + (a->write ? "!" : "");
  if (a->before != a->after) s += " -> " + joined(a->after, "|");
  return s + ")";
}

std::string base_text(const ArgType& t) {
  if (!t.other.empty()) return t.other;
  switch (t.base) {
    case ArgType::Tensor: return "Tensor";
    case ArgType::Scalar: return "Scalar";
    case ArgType::Int: return t.symint ? "SymInt" : "int";
    case ArgType::Float: return "float";
    case ArgType::Bool: return "bool";
    case ArgType::Str: return "str";
    case ArgType::ScalarType: return "ScalarType";
    case ArgType::Layout: return "Layout";
    case ArgType::Device: return "Device";
    case ArgType::MemoryFormat: return "MemoryFormat";
    case ArgType::Generator: return "Generator";
    case ArgType::Stream: return "Stream";
    case ArgType::Storage: return "Storage";
    case ArgType::Dimname: return "Dimname";
    case ArgType::Any: return "Any";
  }
  return "Any";
}

std::string real_text(double d) {
  if (std::isfinite(d) && std::fabs(d) < 1e10 && double(int64_t(d)) == d)
    return (std::signbit(d) && d == 0 ? "-" : "") + std::to_string(int64_t(d)) + ".";
  char s[40];
  std::snprintf(s, sizeof s, "%.17g", d);
  return s;
}

std::string quoted(const std::string& text) {
  std::string s = "\"";
  for (char c : text) {
    switch (c) {
      case '\\': s += "\\\\"; break;
      case '\'': s += "\\'"; break;
      case '"': s += "\\\""; break;
      case '\a': s += "\\a"; break;
      case '\b': s += "\\b"; break;
      case '\f': s += "\\f"; break;
      case '\n': s += "\\n"; break;
      case '\r': s += "\\r"; break;
      case '\t': s += "\\t"; break;
      case '\v': s += "\\v"; break;
      default: s += c;
    }
  }
  return s + "\"";
}

template <class T, class F> std::string list_text(const std::vector<T>& v, F one) {
  std::string s = "[";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + one(v[i]);
  return s + "]";
}

// Lists of int (not of SymInt) with one repeated value print as that value: int[2] stride=1.
bool prints_as_one(const ArgType& t, const std::vector<int64_t>& v) {
  if (t.symint || t.optional || v.size() < 2) return false;
  for (int64_t x : v)
    if (x != v[0]) return false;
  return true;
}

std::string default_text(const ArgType& t, const Default& d) {
  struct Print {
    const ArgType& t;
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double x) const { return real_text(x); }
    std::string operator()(const std::string& s) const { return t.base == ArgType::Str ? quoted(s) : s; }
    std::string operator()(DType x) const { return std::to_string(int(x)); }
    std::string operator()(const std::vector<int64_t>& v) const {
      if (prints_as_one(t, v)) return std::to_string(v[0]);
      return list_text(v, [](int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const std::vector<double>& v) const { return list_text(v, real_text); }
    std::string operator()(const std::vector<bool>& v) const {
      return list_text(v, [](bool b) { return std::string(b ? "True" : "False"); });
    }
  };
  return std::visit(Print{t}, d.value);
}

std::string with_name(std::string type, const std::string& name) { return name.empty() ? type : type + " " + name; }

}  // namespace

std::string type_text(const ArgType& t, const std::optional<Alias>& alias) {
  std::string s = base_text(t);
  if (!(alias && alias->of_list)) s += alias_text(alias);
  if (t.list) {
    if (t.element_optional) s += "?";
    s += t.list_size >= 0 ? "[" + std::to_string(t.list_size) + "]" : "[]";
    if (alias && alias->of_list) s += alias_text(alias);
  }
  return s + (t.optional ? "?" : "");
}

std::string argument_text(const Argument& a) {
  std::string s = with_name(type_text(a.type, a.alias), a.name);
  return a.fallback ? s + "=" + default_text(a.type, *a.fallback) : s;
}

std::string Schema::text() const {
  std::string s = (ns.empty() ? "" : ns + "::") + name + (overload.empty() ? "" : "." + overload) + "(";
  bool kwarg_only = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i) s += ", ";
    if (args[i].kwarg_only && !kwarg_only) {
      s += "*, ";
      kwarg_only = true;
    }
    s += argument_text(args[i]);
  }
  if (varargs) s += args.empty() ? "..." : ", ...";
  s += ") -> ";
  std::string results;
  for (size_t i = 0; i < returns.size(); ++i)
    results += (i ? ", " : "") + with_name(type_text(returns[i].type, returns[i].alias), returns[i].name);
  if (varreturns) results += returns.empty() ? "..." : ", ...";
  bool bare = (returns.size() == 1 && !varreturns && results[0] != '(') || (returns.empty() && varreturns);
  return s + (bare ? results : "(" + results + ")");
}

}  // namespace shim
