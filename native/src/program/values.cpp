#include "program/values.h"

namespace shim::program {

namespace {

template <class... F> struct Cases : F... {
  using F::operator()...;
};
template <class... F> Cases(F...) -> Cases<F...>;

}  // namespace

Value recorded(const shim::Value& v, Recorder& recorder) {
  using From = shim::Value;
  switch (v.tag) {
    case From::none: return {};
    case From::tensor: return {recorder.ref(Tensor(v.t))};
    case From::boolean: return {v.i != 0};
    case From::integer:
      if (v.width == From::word) return {v.i};
      return {v.number()};
    case From::real: return {v.f};
    case From::complex: return {v.number()};
    case From::text: return {std::string(v.chars, v.size)};
    case From::dtype: return {DType(v.i)};
    case From::device: return {v.where};
    case From::layout: return {LayoutNumber{int8_t(v.i)}};
    case From::memory_format: return {MemoryFormat(v.i)};
    case From::list: {
      List items;
      for (uint32_t i = 0; i < v.size; ++i) items.push_back(recorded(v.items[i], recorder));
      return {std::move(items)};
    }
    case From::object: return {Ref<HeldObject>(make<HeldObject>(v.held))};
    default: fail(Kind::NotImplemented, "a step of a program cannot hold a ", v.type_name());
  }
}

void collect_tensors(const shim::Value& gave, std::vector<Tensor>& into) {
  const bool lists = gave.tag == shim::Value::list;
  CHECK(Kind::Runtime, lists || gave.is_tensor() || gave.tag == shim::Value::none, "a step of a trace gave a ",
      gave.type_name(), ", which is no tensor");
  if (gave.is_tensor()) into.emplace_back(gave.t);
  for (const shim::Value& item : std::span(gave.items, lists ? gave.size : 0)) collect_tensors(item, into);
}

shim::Value Given::list(const List& l) {
  shim::Value* items = room_.take(l.size());
  for (size_t i = 0; i < l.size(); ++i) items[i] = of(l[i]);
  return {shim::Value::list, uint32_t(l.size()), items};
}

shim::Value Given::of(const Value& v) {
  using To = shim::Value;
  return std::visit(
      Cases{[](std::monostate) { return To(); }, [](bool b) { return To(To::boolean, b); },
          [](int64_t i) { return To(To::integer, i); }, [](double d) { return To(d); },
          [](const Scalar& s) { return To(s); }, [](const std::string& s) { return To(std::string_view(s)); },
          [](DType t) { return To(To::dtype, int64_t(t)); }, [](Device d) { return To(d); },
          [](LayoutNumber l) { return To(To::layout, l.number); },
          [](MemoryFormat f) { return To(To::memory_format, int64_t(f)); },
          [](const Ref<HeldObject>& h) {
            To held;
            held.tag = To::object;
            held.held = h->object;
            return held;
          },
          [&](const List& l) { return list(l); }, [&](Parameter p) { return To(parameters_[p.slot]); },
          [&](const TensorRef& r) {
            if (tensors_.empty()) tensors_.reserve(8);
            return To(tensors_.emplace_back(tensor_of(r, storages_)).get());
          }},
      v.is);
}

bool run_kernel(const Step& step, Storages storages, std::span<const Scalar> parameters) {
  Operator& op = *step.op;
  if (!op.native || !op.schema.returns.empty()) return false;
  Given given(storages, parameters);
  std::vector<shim::Value> values;
  values.reserve(step.args.size());
  for (const Value& v : step.args) values.push_back(given.of(v));
  Answer answer;
  op.native(op, values.data(), answer);
  if (answer.kind == Answer::declined) return false;
  ++op.calls_native;
  return true;
}

}  // namespace shim::program
