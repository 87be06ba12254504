// A program as Python text: a line for each kernel and each call.
#include "program/program.h"

namespace shim::program {
namespace {

std::string name_of(const Steps& s, int32_t storage) {
  const char* kind = s.storages[size_t(storage)].origin == StorageSlot::input      ? "x"
                     : s.storages[size_t(storage)].origin == StorageSlot::constant ? "c"
                     : s.storages[size_t(storage)].origin == StorageSlot::copy     ? "k"
                                                                                   : "t";
  return str(kind, storage);
}

std::string shown(const Steps& s, const TensorRef& r) {
  if (r.storage < 0) return "_";
  std::string text = name_of(s, r.storage);
  const bool whole = r.offset == 0 && r.strides == contiguous_strides(r.sizes);
  return str(
      text, whole ? str(bracketed(r.sizes)) : str(bracketed(r.sizes), ".at", bracketed(r.strides), "+", r.offset));
}

std::string shown(const Scalar& n) {
  if (n.type == Scalar::Bool) return n.i ? "True" : "False";
  if (n.type == Scalar::Int) return str(n.i);
  if (n.type == Scalar::Float) return str(n.f);
  return "complex(" + str(n.f) + ", " + str(n.imag) + ")";
}

std::string shown(const Steps& s, const Value& v) {
  if (auto* r = std::get_if<TensorRef>(&v.is)) return shown(s, *r);
  if (auto* p = std::get_if<Parameter>(&v.is)) return str("p", p->slot);
  if (auto* b = std::get_if<bool>(&v.is)) return *b ? "True" : "False";
  if (auto* i = std::get_if<int64_t>(&v.is)) return str(*i);
  if (auto* d = std::get_if<double>(&v.is)) return str(*d);
  if (auto* n = std::get_if<Scalar>(&v.is)) return shown(*n);
  if (auto* t = std::get_if<std::string>(&v.is)) return "'" + *t + "'";
  if (auto* t = std::get_if<DType>(&v.is)) return std::string("torch.") + dtype_name(*t);
  if (auto* d = std::get_if<Device>(&v.is)) return "'" + to_string(*d) + "'";
  if (std::holds_alternative<LayoutNumber>(v.is)) return "layout";
  if (std::holds_alternative<MemoryFormat>(v.is)) return "memory_format";
  if (std::holds_alternative<Ref<HeldObject>>(v.is)) return "generator";
  auto* list = std::get_if<List>(&v.is);
  if (!list) return "None";
  std::string text = "[";
  for (const Value& i : *list) text += (text.size() > 1 ? ", " : "") + shown(s, i);
  return text + "]";
}

std::string line_of(const Steps& s, const Step& step) {
  std::string results, args;
  for (const TensorRef& r : step.results) results += (results.empty() ? "" : ", ") + shown(s, r);
  for (const Value& v : step.args) args += (args.empty() ? "" : ", ") + shown(s, v);
  return (results.empty() ? "" : results + " = ") + "torch.ops." + step.op->schema.ns + "." + step.op->schema.name +
         "." + (step.op->schema.overload.empty() ? "default" : step.op->schema.overload) + "(" + args + ")";
}

std::string line_of(const Steps& s, const Group& g) {
  std::string results, args, names;
  for (const Store& r : g.stores) results += (results.empty() ? "" : ", ") + shown(s, r.ref);
  for (const Load& l : g.loads) args += (args.empty() ? "" : ", ") + shown(s, l.ref);
  for (const Number& n : g.numbers)
    args += (args.empty() ? "" : ", ") + (n.parameter < 0 ? shown(n.value) : str("p", n.parameter));
  for (const std::string& n : g.names) names += (names.empty() ? "" : "_") + n;
  return results + " = fused_" + names + "(" + args + ")";
}

}  // namespace

std::string Program::source() const {
  std::string arguments;
  for (size_t i = 0; i < steps_.storages.size(); ++i)
    if (steps_.storages[i].origin == StorageSlot::input)
      arguments += (arguments.empty() ? "" : ", ") + name_of(steps_, int32_t(i));
  for (size_t p = 0; p < steps_.parameters.size(); ++p) arguments += str(arguments.empty() ? "" : ", ", "p", p);
  std::string text = "def program(" + arguments + "):\n";
  for (const KeptCopy& c : steps_.copies)
    text += "    " + shown(steps_, c.to) + " = kept(" + shown(steps_, c.from) + ")\n";
  if (arena_.bytes) text += str("    arena = empty(", arena_.bytes, ")  # ", arena_.parts.size(), " temporaries\n");
  for (const Item& item : items_)
    text += "    " + (item.group ? line_of(steps_, *item.group) : line_of(steps_, steps_.steps[item.step])) + "\n";
  std::string results;
  for (size_t i = 0; i < steps_.storages.size(); ++i)
    if (steps_.storages[i].outlives && steps_.storages[i].origin == StorageSlot::made)
      results += (results.empty() ? "" : ", ") + name_of(steps_, int32_t(i));
  return text + "    return " + (results.empty() ? "None" : results) + "\n";
}

}  // namespace shim::program
