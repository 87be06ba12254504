#include "trace/arguments.h"

#include <algorithm>
#include <cstring>

#include "dispatch/call.h"
#include "trace/checks.h"

namespace shim::trace {

namespace {

std::span<const Value> items_of(const Value& v) { return {v.items, v.size}; }

// Numbers by type and bits, other values as they are.
bool equal(const program::Value& known, const Value& v) {
  const auto is = [&]<class T>(const T& value) {
    const T* held = std::get_if<T>(&known.is);
    return held && *held == value;
  };
  switch (v.tag) {
    case Value::none: return std::holds_alternative<std::monostate>(known.is);
    case Value::boolean: return is(v.i != 0);
    case Value::integer: return v.width == Value::word && is(v.i);
    case Value::real: {
      const double* held = std::get_if<double>(&known.is);
      return held && !std::memcmp(held, &v.f, sizeof v.f);
    }
    case Value::text: {
      const std::string* held = std::get_if<std::string>(&known.is);
      return held && *held == std::string_view(v.chars, v.size);
    }
    case Value::dtype: return is(DType(v.i));
    case Value::device: return is(v.where);
    case Value::layout: {
      const auto* held = std::get_if<program::LayoutNumber>(&known.is);
      return held && held->number == v.i;
    }
    case Value::memory_format: return is(MemoryFormat(v.i));
    case Value::list: {
      const auto* held = std::get_if<program::List>(&known.is);
      return held && std::ranges::equal(*held, items_of(v), equal);
    }
    default: return false;
  }
}

// What makes a tensor is called with False or with nothing, and a node has nothing.
bool unpinned(const Argument& a, const Value& v) { return v.tag == Value::boolean && !v.i && a.name == "pin_memory"; }

bool can_be_constant(const Value& v) {
  if (v.tag == Value::list) return std::ranges::all_of(items_of(v), can_be_constant);
  return v.tag != Value::tensor && v.tag != Value::complex && v.tag < Value::object &&
         (v.tag != Value::integer || v.width == Value::word);
}

bool holds_tensors(const Value& v) {
  return v.tag == Value::list &&
         std::ranges::any_of(items_of(v), [](const Value& i) { return i.tag == Value::tensor; });
}

bool lies_as_before(const TensorSpec& s, const TensorImpl& t) {
  const bool sizes = s.has_dims_of(t);
  return s.device == t.device() && (s.dtype == t.dtype() || !looks_at(Check::dtype)) &&
         (sizes || !looks_at(Check::sizes)) && (s.offset == t.storage_offset() || !looks_at(Check::offset)) &&
         ((s.conj == t.is_conj && s.neg == t.is_neg) || !looks_at(Check::bits)) && s.wrapped_number == t.wrapped_number;
}

// Memory that a node meets for the first time is named at once; if the node does not match after all, it is not.
class Names {
 public:
  explicit Names(Session& s) : session_(s), next_(s.slots()) {}
  ~Names() {
    if (!kept_)
      for (Storage* s : named_) session_.unname(*s);
  }
  bool matches(const TensorSpec& spec, const TensorImpl& t) {
    Storage& s = *t.storage();
    if (!lies_as_before(spec, t) || (looks_at(Check::shared) && !s.may_hide())) return false;
    if (session_.tree().graphs && s.nbytes() != spec.nbytes) return false;  // a graph copies memory whole
    if (!spec.fresh) return (session_.knows(s) && s.trace_slot == spec.slot) || !looks_at(Check::memory);
    if (session_.knows(s)) return !looks_at(Check::fresh);
    name(s);
    return true;
  }
  void give(TensorSpec& spec, const TensorImpl& t) {
    Storage& s = *t.storage();
    spec.fresh = !session_.knows(s);
    if (spec.fresh) name(s);
    spec.slot = s.trace_slot;
  }
  uint32_t met() const { return uint32_t(named_.size()); }
  void keep() { kept_ = true; }

 private:
  void name(Storage& s) {
    session_.name(s, next_++);
    named_.push_back(&s);
  }
  Session& session_;
  uint32_t next_;
  Few<Storage*, 8> named_;
  bool kept_ = false;
};

bool tensor_matches(Names& names, const TensorSpec& spec, const Value& v, Given& given) {
  if (v.tag != Value::tensor || !of_plain_class(v)) return false;
  if (!names.matches(spec, *v.t)) return false;
  given.inputs.push_back(v.t);
  return true;
}

bool list_matches(Names& names, const TreeNode& node, const ArgumentSpec& a, const Value& v, Given& given) {
  if (v.tag != Value::list || v.size != a.given.size()) return false;
  size_t at = a.first;
  for (size_t i = 0; i < a.given.size(); ++i) {
    if (a.given[i] && !tensor_matches(names, node.inputs[at++], v.items[i], given)) return false;
    if (!a.given[i] && v.items[i].tag != Value::none) return false;
  }
  return true;
}

bool is_floating_tensor(const Value& v) {
  if (v.tag == Value::list) return std::ranges::any_of(items_of(v), is_floating_tensor);
  return v.tag == Value::tensor && is_floating(v.t->dtype());
}

bool is_number(const Value& v, Scalar::Type type) {
  return type == Scalar::Float ? v.tag == Value::real : v.tag == Value::integer && v.width == Value::word;
}

// alpha=1 is hardly ever another number, and what is multiplied by it need not be.
bool is_whole_default(const Argument& a, const Value& v) {
  const int64_t* number = a.fallback ? std::get_if<int64_t>(&a.fallback->value) : nullptr;
  return number && is_number(v, Scalar::Int) && v.number().i == *number;
}

// A float of an operator that computes each element by itself, and an integer where its tensors are floating, may be another each time.
bool may_vary(const Operator& op, const Argument& a, const Value& v, bool floating) {
  if (op.any_numbers) return is_number(v, Scalar::Int) || is_number(v, Scalar::Float);
  if (op.traits->renews_numbers) return floating && !a.type.list && is_number(v, Scalar::Float);
  if (!op.functional && !op.pointwise) return false;
  const Operator& f = op.functional ? *op.functional : op;
  if (!f.pointwise || a.type.list || a.name == "exponent") return false;  // kernels of powers are chosen by it
  if (is_whole_default(a, v)) return false;
  const bool number = a.type.base == ArgType::Scalar || a.type.base == ArgType::Float || a.type.base == ArgType::Tensor;
  return number && floating &&
         (is_number(v, Scalar::Float) || (is_number(v, Scalar::Int) && a.type.base != ArgType::Float));
}

const char* against_tensor(const Value& v) {
  if (!of_plain_class(v)) return "tensors of other classes";
  const TensorImpl& t = *v.t;
  if (t.device().is_meta()) return "tensors without memory";
  if (!t.storage()->has_memory() && t.numel()) return "tensors without memory";
  return t.storage()->may_hide() ? nullptr : "memory that is shared with others";
}

struct Builder {
  Session& session;
  Names names;
  TreeNode& node;
  const char* why = nullptr;
  std::optional<Device> device;

  bool add(const Value& v) {
    why = against_tensor(v);
    if (why) return false;
    const TensorImpl& t = *v.t;
    if (t.dim() && device && *device != t.device()) return why = "several devices", false;
    if (t.dim()) device = t.device();
    if (t.device().is_cuda()) node.device = t.device().index;
    TensorSpec spec = TensorSpec::of(t);
    names.give(spec, t);
    node.inputs.push_back(std::move(spec));
    return true;
  }
  bool list(ArgumentSpec& spec, const Value& v) {
    spec.kind = ArgumentSpec::tensors;
    for (const Value& item : items_of(v)) {
      const bool tensor = item.tag == Value::tensor;
      spec.given.push_back(tensor);
      if (tensor && !add(item)) return false;
      if (!tensor && item.tag != Value::none) return why = "a list of other things", false;
    }
    return true;
  }
  bool argument(const Argument& a, const Value& v, bool floating) {
    ArgumentSpec spec;
    spec.first = uint32_t(node.inputs.size());
    if (v.tag == Value::tensor) {
      spec.kind = ArgumentSpec::tensor;
      if (!add(v)) return false;
    } else if (holds_tensors(v)) {
      if (!list(spec, v)) return false;
    } else if (!session.tree().backend && may_vary(*node.op, a, v, floating)) {
      spec.kind = ArgumentSpec::parameter;
      spec.number = v.tag == Value::real ? Scalar::Float : Scalar::Int;
    } else if (can_be_constant(v)) {
      program::Recorder none;
      spec.value = program::recorded(unpinned(a, v) ? Value() : v, none);
    } else {
      return why = "arguments of other classes", false;
    }
    node.arguments.push_back(std::move(spec));
    return true;
  }
  bool results(const Produced& outcome) {
    node.form = outcome.form;
    const uint32_t of_inputs = session.slots() + names.met();
    for (const Tensor& t : outcome.tensors) {
      if (!t) return why = "results that are no tensors", false;
      const Storage& s = *t->storage();
      if (session.knows(s) && s.trace_slot < of_inputs) return why = kSharesWithArgument, false;
      if (!s.may_hide() || t->requires_grad()) return why = "results in memory that is shared with others", false;
      if (t->device().is_cuda()) node.device = t->device().index;
      if (device && t->device() != *device) return why = "several devices", false;
      TensorSpec spec = TensorSpec::of(*t);
      names.give(spec, *t);
      node.results.push_back(std::move(spec));
    }
    return true;
  }
};

}  // namespace

bool matches(Session& session, const TreeNode& node, const Value* args, size_t n, Given& given) {
  if (n != node.arguments.size()) return false;
  Names names(session);
  for (size_t i = 0; i < n; ++i) {
    const ArgumentSpec& a = node.arguments[i];
    const Value& v = args[i];
    switch (a.kind) {
      case ArgumentSpec::tensor:
        if (!tensor_matches(names, node.inputs[a.first], v, given)) return false;
        break;
      case ArgumentSpec::tensors:
        if (!list_matches(names, node, a, v, given)) return false;
        break;
      case ArgumentSpec::parameter:
        if (!is_number(v, a.number)) return false;
        given.parameters.push_back(v.number());
        break;
      case ArgumentSpec::constant:
        if (!equal(a.value, unpinned(node.op->schema.args[i], v) ? Value() : v) && looks_at(Check::constants))
          return false;
    }
  }
  names.keep();
  return true;
}

std::unique_ptr<TreeNode> node_of(Session& session, Operator& op, const Value* args, size_t n, const Produced& outcome,
    const char** why, const std::function<bool(TreeNode&)>& wanted) {
  auto node = std::make_unique<TreeNode>();
  node->op = &op;
  node->apart = session.apart;
  node->before = session.at();
  node->depth = session.at()->depth + 1;
  node->slots_before = session.slots();
  Builder b{session, Names(session), *node};
  const bool floating = std::any_of(args, args + n, is_floating_tensor);
  bool good = true;
  for (size_t i = 0; good && i < n; ++i) good = b.argument(op.schema.args[i], args[i], floating);
  good = good && b.results(outcome);
  *why = b.why;
  if (!good) return nullptr;
  node->slots = b.names.met();
  if (wanted && !wanted(*node)) return nullptr;
  b.names.keep();
  return node;
}

void given_of(const TreeNode& node, const Value* args, Given& given) {
  given.clear();
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const ArgumentSpec& a = node.arguments[i];
    if (a.kind == ArgumentSpec::parameter) given.parameters.push_back(args[i].number());
    if (a.kind == ArgumentSpec::tensor) given.inputs.push_back(args[i].t);
    if (a.kind != ArgumentSpec::tensors) continue;
    for (const Value& item : items_of(args[i]))
      if (item.tag == Value::tensor) given.inputs.push_back(item.t);
  }
}

Value NodeArguments::of(const ArgumentSpec& a, const Scalar* parameter) {
  switch (a.kind) {
    case ArgumentSpec::tensor: return Value(inputs_[a.first].get());
    case ArgumentSpec::parameter: return Value(*parameter);
    case ArgumentSpec::constant: return constants_.of(a.value);
    case ArgumentSpec::tensors: break;
  }
  Value* items = room_.take(a.given.size());
  size_t at = a.first;
  for (size_t i = 0; i < a.given.size(); ++i) items[i] = a.given[i] ? Value(inputs_[at++].get()) : Value();
  return {Value::list, uint32_t(a.given.size()), items};
}

}  // namespace shim::trace
