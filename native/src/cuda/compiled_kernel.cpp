#include "cuda/compiled_kernel.h"

#include <set>

#include "core/lazy_clone.h"
#include "cuda/device_failure.h"
#include "cuda/launch_key.h"

namespace shim::cuda {

namespace {

union SlotNumber {
  void* pointer;
  int64_t word;
  float f;
  double d;
};

void* slot_address(const CompiledKernel::Parameter& p, const TensorImpl& t) {
  if (p.written) own_data(*t.storage());
  void* const at = t.data();
  CHECK(Kind::Runtime, !p.aligned || reinterpret_cast<uintptr_t>(at) % 16 == 0,
      "a Triton kernel that was compiled for addresses which are multiples of 16 got another");
  return at;
}

SlotNumber slot_number(const CompiledKernel::Parameter& p, const Value& v) {
  SlotNumber n{};
  if (p.slot == Slot::pointer)
    n.pointer = slot_address(p, *v.t);
  else if (p.slot == Slot::f32)
    n.f = float(v.number().to_double());
  else if (p.slot == Slot::f64)
    n.d = v.number().to_double();
  else
    n.word = v.i;
  return n;
}

struct Launches {  // what an operator of launches knows
  CompiledKernel code;
  Ref<HeldObject> kept;
};

void run_launch(Operator& op, const Value* args, Answer& answer) {
  const auto& of = *static_cast<const Launches*>(op.native_data);
  unsigned grid[kGrid];
  for (size_t i = 0; i < kGrid; ++i) {
    CHECK(Kind::Value, args[i].i >= 0 && args[i].i <= INT32_MAX, "a grid of ", args[i].i, " programs");
    grid[i] = unsigned(args[i].i);
  }
  launch(of.code, grid, args + kGrid);
  answer.kind = Answer::tuple;
  answer.make_room(0);
}

Argument slot_argument(const CompiledKernel::Parameter& p, std::string name, size_t i) {
  Argument a;
  a.name = std::move(name);
  a.type.base = p.slot == Slot::pointer                      ? ArgType::Tensor
                : p.slot == Slot::f32 || p.slot == Slot::f64 ? ArgType::Float
                                                             : ArgType::Int;
  if (p.slot == Slot::pointer && p.written) {
    const std::string set = str("a", i);
    a.alias = Alias{{set}, {set}, true};
  }
  return a;
}

bool accepts(Slot slot, const Value& v) {  // the key tells kinds apart: what fits now fits at every launch
  if (slot == Slot::pointer) return v.is_tensor();
  if (v.tag == Value::real) return slot == Slot::f32 || slot == Slot::f64;
  return v.tag == Value::integer || v.tag == Value::boolean;
}

}  // namespace

bool read_kernel(const Value& told, CompiledKernel& code) {
  const Value* const part = told.items;
  if (told.tag != Value::list || told.size != 5 || !part[0].is_number() || !part[1].is_number() ||
      !part[2].is_number() || part[3].tag != Value::text)
    return false;
  code.function = reinterpret_cast<CUfunction>(part[0].i);
  code.threads = unsigned(part[1].i);
  code.shared = unsigned(part[2].i);
  code.name.assign(part[3].chars, part[3].size);
  static auto* reasons = new std::set<std::string>;
  if (part[4].tag == Value::text)
    code.at_once = reasons->insert(std::string(part[4].chars, part[4].size)).first->c_str();
  return true;
}

bool read_parameters(
    const Value& told, std::span<const Value> values, CompiledKernel& code, std::vector<size_t>& places) {
  for (const Value& parameter : std::span(told.items, told.size)) {
    if (parameter.tag != Value::list || parameter.size != 3) return false;
    const size_t at = size_t(parameter.items[0].i);
    const Slot slot = Slot(parameter.items[1].i);
    if (at >= values.size() || !accepts(slot, values[at])) return false;
    code.parameters.push_back({slot, parameter.items[2].i != 0, slot == Slot::pointer && lies_aligned(*values[at].t)});
    places.push_back(at);
  }
  return true;
}

void launch(const CompiledKernel& code, const unsigned* grid, const Value* given) {
  if (!grid[0] || !grid[1] || !grid[2]) return;
  SlotNumber values[kMostParameters];
  void* arguments[kMostParameters + 2];
  size_t n = 0;
  for (const CompiledKernel::Parameter& p : code.parameters) {
    values[n] = slot_number(p, given[n]);
    arguments[n] = &values[n];
    ++n;
  }
  void* none = nullptr;  // scratch memory, global and of profiles: kernels that want some are not recorded
  arguments[n] = arguments[n + 1] = &none;
  for (size_t i = 0; i < n; ++i)  // once more: to get an address may run what reads the memory
    if (code.parameters[i].written && code.parameters[i].slot == Slot::pointer) given[i].t->storage()->changed();
  OnDevice current(code.device);
  const int failed = driver().launch(code.function, grid[0], grid[1], grid[2], code.threads, 1, 1, code.shared,
      current_stream(code.device), arguments, nullptr);
  if (!failed) return;
  if (breaks_context(failed)) raise_failure(failed, "cuLaunchKernel");
  const char* text = nullptr;
  driver().error_string(CUresult(failed), &text);
  fail(Kind::Runtime, "Triton Error [CUDA]: ", text ? text : "unknown");
}

Schema launch_schema(const CompiledKernel& code, const std::vector<std::string>& names, std::string overload) {
  Schema schema;
  schema.ns = "triton";
  schema.name = code.name;
  schema.overload = std::move(overload);
  for (const char* name : {"grid_x", "grid_y", "grid_z"}) schema.args.push_back({name, {ArgType::Int}});
  for (size_t i = 0; i < code.parameters.size(); ++i)
    schema.args.push_back(slot_argument(code.parameters[i], names[i], i));
  return schema;
}

void launch_by(Operator& op, const CompiledKernel& code, Ref<HeldObject> kept) {
  op.any_numbers = true;
  op.native_data = new Launches{code, std::move(kept)};
  op.native = run_launch;
}

}  // namespace shim::cuda
