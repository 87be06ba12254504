#include "ops/call_errors.h"

#include <algorithm>

#include "ops/schema_names.h"

namespace shim {
namespace {

std::string too_many(const Operator& op, const char* name, size_t skip, const GivenCall& c) {
  const size_t most = op.positional - skip, least = op.required > skip ? op.required - skip : 0,
               given = c.positional - skip;
  if (least != most)
    return str(name, "() takes from ", least, " to ", most, " positional arguments but ", given, " were given");
  return str(name, "() takes ", most, " positional argument", most == 1 ? "" : "s", " but ", given, " ",
      given == 1 ? "was" : "were", " given");
}

std::string missing(const Operator& op, const char* name, Form form, size_t skip, const GivenCall& c) {
  std::string names;
  size_t count = 0;
  for (size_t i = std::max(c.positional, skip); i < op.schema.args.size(); ++i) {
    const std::string shown = shown_name(op.schema.args[i], form);
    if (op.schema.args[i].fallback || std::ranges::find(c.keywords, shown) != c.keywords.end()) continue;
    names += (count++ ? ", \"" : "\"") + shown + "\"";
  }
  return str(name, "() missing ", count, " required positional argument", count == 1 ? "s" : "", ": ", names);
}

std::string wrong_type(const Argument& a, const char* name, Form form, const Misfit& f) {
  const std::string place = f.position >= 0 ? str(" (position ", f.position, ")") : "";
  const std::string where = str(name, "(): argument '", shown_name(a, form), "'", place);
  if (a.type.list && a.type.base == ArgType::Int && !f.element.empty())
    return str(where, " must be tuple of ints, but found element of type ", f.element, " at pos 0");
  return str(where, " must be ", parameter_type_name(a), ", not ", f.type_name, f.note);
}

}  // namespace

Error misfit_error(const Operator& op, const char* name, Form form, const GivenCall& c, const Misfit& f) {
  const size_t skip = form == Form::method ? 1 : 0;
  switch (f.what) {
    case Misfit::too_many: return {Kind::Type, too_many(op, name, skip, c)};
    case Misfit::missing: return {Kind::Type, missing(op, name, form, skip, c)};
    case Misfit::type: return {Kind::Type, wrong_type(op.schema.args[f.slot], name, form, f)};
    case Misfit::multiple: return {Kind::Type, str(name, "() got multiple values for argument '", f.keyword, "'")};
    default: break;
  }
  if (f.keyword == "names" && op.traits->dim_names)
    return {Kind::NotImplemented,
        str("torch.", name, ": argument 'names' is not supported by shim-torch: there are no named tensors")};
  return {Kind::Type, str(name, "() got an unexpected keyword argument '", f.keyword, "'")};
}

Error operator_misfit_error(const Operator& op, const GivenCall& c, const Misfit& f) {
  const std::string name = op.schema.qualified(), declaration = op.schema.text();
  const Argument* a = f.slot < op.schema.args.size() ? &op.schema.args[f.slot] : nullptr;
  const auto error = [](auto&&... parts) { return Error(Kind::Runtime, str(parts...)); };
  if (f.what == Misfit::missing)
    return error(name, "() is missing value for argument '", a->name, "'. Declaration: ", declaration);
  if (f.what == Misfit::type && f.is_none && a->type.base == ArgType::Tensor && !a->type.list)
    return error("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", f.slot, " '",
        a->name, "'");
  if (f.what == Misfit::type)
    return error(name, "() Expected a value of type '", a->type.other.empty() ? type_text(a->type) : jit_type(a->type),
        "' for argument '", a->name, "' but instead found type '", f.type_name, "'.\nPosition: ", f.slot,
        "\nValue: ", f.shown, "\nDeclaration: ", declaration);
  if (f.what == Misfit::too_many || f.what == Misfit::none)
    return error(name, "() expected at most ", op.schema.args.size(), " argument(s) but received ", c.count(),
        " argument(s). Declaration: ", declaration);
  return error("Unknown keyword argument '", f.keyword, "' for operator '", name, "'. Schema: ", declaration);
}

Error no_kernel_error(const Operator& op, std::string_view backend) {
  const std::string name = op.schema.qualified();
  if (backend == "Meta")
    return {Kind::NotImplemented,
        name +
            ": attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
            "You may have run into this message while using an operator with PT2 compilation APIs "
            "(torch.compile/torch.export); in order to use "
            "this operator with those APIs you'll need to add a fake impl. Please see the following for next steps:  "
            "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"};
  const bool aten = op.schema.ns == "aten";
  const std::string shown = aten && !op.schema.overload.empty() ? str(name, ".", op.schema.overload) : name;
  return {Kind::NotImplemented,
      str("Could not run '", shown, "' with arguments from the '", backend, "' backend. ",
          aten ? "shim-torch has no kernel of this operator: please report it with the library's name and version, or "
                 "register a kernel with torch.library."
               : "This could be because the operator doesn't exist for this backend: register a kernel for it with "
                 "torch.library.")};
}

Meant meant_overloads(const std::vector<Operator*>& candidates, const GivenCall& c) {
  Meant m;
  std::vector<Operator*> plausible;
  for (Operator* op : candidates)
    if (!op->out_count || candidates.size() == 1) m.listed.push_back(op);
  if (m.listed.empty()) m.listed = candidates;
  for (Operator* op : m.listed) {
    const size_t most = op->schema.args.size() + (out_variant(candidates, op) ? 1 : 0) + (op->factory ? 1 : 0);
    if (c.count() >= op->required && c.count() <= most) plausible.push_back(op);
  }
  m.only = m.listed.size() == 1 ? m.listed[0] : plausible.size() == 1 ? plausible[0] : nullptr;
  if (m.only && c.out)
    for (Operator* op : candidates)
      if (op->out_count && op->functional == m.only) m.only = op;
  return m;
}

std::string invalid_combination(const char* name, const GivenCall& c) {
  return str(name, "() received an invalid combination of arguments - got (", c.types, "), but expected one of:\n");
}

}  // namespace shim
