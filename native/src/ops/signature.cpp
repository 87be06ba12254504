#include "ops/signature.h"

#include <algorithm>
#include <ranges>

#include "core/error.h"
#include "ops/value.h"

namespace shim {

std::string parameter_type_name(const Argument& a) {
  const ArgType& t = a.type;
  if (t.list) {
    switch (t.base) {
      case ArgType::Tensor: return "tuple of Tensors";
      case ArgType::Float: return "tuple of floats";
      case ArgType::Bool: return "tuple of bools";
      case ArgType::Scalar: return "tuple of Scalars";
      case ArgType::Str: return "tuple of strs";
      default: return "tuple of ints";
    }
  }
  switch (t.base) {
    case ArgType::Tensor: return "Tensor";
    case ArgType::Scalar: return "Number";
    case ArgType::Int: return "int";
    case ArgType::Float: return "float";
    case ArgType::Bool: return "bool";
    case ArgType::Str: return "str";
    case ArgType::ScalarType: return "torch.dtype";
    case ArgType::Layout: return "torch.layout";
    case ArgType::Device: return "torch.device";
    case ArgType::MemoryFormat: return "torch.memory_format";
    case ArgType::Generator: return "torch.Generator";
    case ArgType::Storage: return "torch.Storage";
    default: return "object";
  }
}

std::string shown_name(const Argument& a, Form form) {
  if (form != Form::op && !a.python_name.empty()) return a.python_name;
  return a.name == "self" && !a.type.list && form == Form::function ? "input" : a.name;  // lists keep their name
}

bool out_variant(const std::vector<Operator*>& all, const Operator* op) {
  return std::any_of(all.begin(), all.end(), [&](Operator* o) { return o->out_count && o->functional == op; });
}

namespace {

std::string default_text(const Argument& a) {
  std::string s = argument_text(a);
  return s.substr(s.find('=') + 1);
}

}  // namespace

std::string signature_text(const Operator& op, Form form, bool with_out, size_t number_at) {
  std::string s = "(";
  bool kwarg_only = false;
  size_t i = form == Form::method ? 1 : 0;
  for (size_t first = i; i < op.schema.args.size(); ++i) {
    const Argument& a = op.schema.args[i];
    if (i > first) s += ", ";
    if (a.kwarg_only && !kwarg_only) {
      s += "*, ";
      kwarg_only = true;
    }
    s += i == number_at ? "Number " + a.name : parameter_type_name(a) + " " + shown_name(a, form);
    if (a.fallback) s += " = " + default_text(a);
  }
  if (with_out) s += std::string(s.size() > 1 ? ", " : "") + (kwarg_only ? "" : "*, ") + "Tensor out = None";
  return s + ")";
}

std::string documented_signature(const Schema& schema, Form form, bool takes_out) {
  std::string text = schema.name + "(";
  bool first = true, starred = false;
  auto add = [&](const std::string& part) {
    text += (first ? "" : ", ") + part;
    first = false;
  };
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const Argument& a = schema.args[i];
    if (form == Form::method && i == 0) continue;
    if (a.kwarg_only && !starred) add("*");
    starred |= a.kwarg_only;
    std::string fallback = argument_text(a);
    fallback = a.fallback ? fallback.substr(fallback.find('=', fallback.find(' '))) : "";
    add((a.name == "self" ? "input" : a.name) + fallback + (fallback.ends_with('.') ? "0" : ""));
  }
  if (takes_out) add(starred ? "out=None" : "*, out=None");
  text += ") -> ";
  if (schema.returns.size() == 1) return text + type_text(schema.returns[0].type);
  text += "(";
  for (size_t i = 0; i < schema.returns.size(); ++i) text += (i ? ", " : "") + type_text(schema.returns[i].type);
  return text + ")";
}

NoneAs none_as(const Argument& a) {
  const ArgType& t = a.type;
  const auto* fallback = a.fallback ? &a.fallback->value : nullptr;
  if (t.optional || (t.base == ArgType::Any && !t.list) || t.base == ArgType::Generator ||
      (fallback && std::holds_alternative<std::monostate>(*fallback)))
    return NoneAs::itself;
  const auto* numbers = fallback ? std::get_if<std::vector<int64_t>>(fallback) : nullptr;
  return numbers && numbers->empty() && t.base == ArgType::Int ? NoneAs::empty_list : NoneAs::misfit;
}

std::pair<std::string_view, std::string_view> dictionary_types(std::string_view type) {
  const size_t open = type.find('('), comma = type.find(',');
  if (comma == type.npos) return {};
  std::string_view value = type.substr(comma + 1, type.size() - comma - 2);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return {type.substr(open + 1, comma - open - 1), value};  // the key's type is one word
}

Error wrong_element_error(
    const Argument& a, const char* function, size_t element, size_t position, const char* given, const char* note) {
  if (a.type.base == ArgType::Tensor)
    return {
        Kind::Type, str("expected Tensor as element ", element, " in argument ", position, ", but got ", given, note)};
  return {Kind::Type, str(function, "(): argument '", a.name, "' failed to unpack the object at pos ", element + 1,
                          " with error \"type must be ", parameter_type_name(a), ",but got ", given, "\"")};
}

Error unreadable_error(const Argument& a, const char* function, size_t element, bool in_list) {
  if (a.type.base == ArgType::Str || a.type.base == ArgType::Device)
    return {Kind::Runtime, "error unpacking string as utf-8"};
  if (a.type.base == ArgType::Float) return {Kind::Overflow, "int too large to convert to float"};
  if (!in_list) return {Kind::Value, "Overflow when unpacking long long"};
  return {Kind::Type, str(function, "(): argument '", a.name, "' failed to unpack the object at pos ", element + 1,
                          " with error \"Overflow when unpacking long long\"")};
}

OldOrder::OldOrder(std::string_view names) {
  for (const auto part : std::views::split(names, ' ')) {
    const std::string_view name(part.begin(), part.end());
    const bool known = name == "self" || name == "alpha" || name == "beta" || name == "value";
    places_ += known ? name[0] : 't';
    if (!known) tensors_.push_back(name);
  }
}

std::string OldOrder::places_of(Form form) const {
  std::string places = places_;
  if (form != Form::method) return places;
  places.erase(places.find('s'), 1);
  return "s" + places;
}

bool OldOrder::fits(Form form, const Value* args, size_t n, bool numbers_too) const {
  const std::string places = places_of(form);
  if (n != places.size()) return false;
  for (size_t i = 0; i < n; ++i) {
    const Value& v = args[i];
    const bool tensor = places[i] == 's' || places[i] == 't', number = v.is_number();
    // What a Scalar of the schema takes: a number, or a tensor of no dims that needs no gradient.
    const bool one = v.is_tensor() && v.t->dim() == 0 && !v.t->requires_grad();
    if (tensor ? !v.is_tensor() && !(numbers_too && number) : !number && !one) return false;
  }
  return true;
}

std::string OldOrder::signature(const char* name, Form form) const {
  std::string text = str(name, "(");
  bool first = true;
  size_t tensors = 0;
  for (char place : places_of(form)) {
    if (place == 's' && form == Form::method) continue;
    text += first ? "" : ", ";
    first = false;
    if (place == 's')
      text += "Tensor input";
    else if (place == 't')
      text += str("Tensor ", tensors_[tensors++]);
    else
      text += str("Number ", keyword_of(place));
  }
  return text + (form == Form::function ? ", *, Tensor out = None)" : ")");
}

}  // namespace shim
