// Calls of C++ extensions into the operator table, and of what the interpreter does for them.
#include "abi/extension_host.h"
#include "abi/results.h"
#include "dispatch/call_values.h"
#include "dispatch/library.h"

using namespace shim;

namespace {

// What the cells hold, then the defaults.
void read_cells(const Schema& s, const ShimCell* cells, size_t n, ValueRoom& room, Value* to) {
  CHECK(Kind::Type, n <= s.args.size(), s.qualified(), "() takes ", s.args.size(), " arguments, got ", n);
  for (size_t i = 0; i < n; ++i) {
    const ArgType& type = s.args[i].type;
    to[i] = value_in(cells[i], room, &type);
    const bool missing = cells[i].tag == SHIM_TENSOR && to[i].tag == Value::none;
    CHECK(Kind::Runtime, !missing || type.optional || type.base != ArgType::Tensor,
        "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", i, " '", s.args[i].name,
        "'");
  }
  for (size_t i = n; i < s.args.size(); ++i) {
    CHECK(Kind::Type, s.args[i].fallback, s.qualified(), "() misses its argument '", s.args[i].name, "'");
    to[i] = default_of(s.args[i], room);
  }
}

class Callable final : public LibraryCode {  // a C++ function, of any values
 public:
  Callable(ShimKernel kernel, void* context, void (*destroy)(void*))
      : kernel_(kernel), context_(context), destroy_(destroy) {}
  ~Callable() override {
    if (destroy_) destroy_(context_);
  }
  std::string name() const override { return "<function of a C++ extension>"; }
  void call(const Schema*, const Value* args, size_t n, const TakeValue& take) override {
    OwnedCells given, result(1);
    for (size_t i = 0; i < n; ++i) given.all.push_back(cell_of(args[i]));
    call_extension(kernel_, context_, given, result);
    ValueRoom room;
    take(value_in(result.all[0], room));
  }

 private:
  const ShimKernel kernel_;
  void* const context_;
  void (*const destroy_)(void*);
};

class Holder final : public LibraryCode {  // of an instance of a custom class
 public:
  Holder(void* holder, void (*destroy)(void*)) : held(holder), destroy_(destroy) {}
  ~Holder() override { destroy_(held); }
  std::string name() const override { return "<instance of a C++ class>"; }
  void* const held;

 private:
  void (*const destroy_)(void*);
};

const auto into = [](ShimCell* result) { return [result](const Value& v) { *result = cell_of(v); }; };

}  // namespace

const ShimOp* shim_cxx_op(const char* name, const char* overload) {
  Operator* op = nullptr;
  kept([&] {
    const HostLock lock;
    op = find_operator(name, overload);
    if (op) return;
    const Value asked[] = {Value(std::string_view(name)), Value(std::string_view(overload))};
    call_imported("extensions.cxx_function", "define", std::span(asked));
    op = find_operator(name, overload);
  });
  return reinterpret_cast<const ShimOp*>(op);
}

int shim_cxx_call(
    const ShimOp* entry, const char* name, const ShimCell* args, size_t n, ShimCell* results, size_t wanted) {
  return kept([&] {
    CHECK(Kind::NotImplemented, entry, name, ": shim-torch has no such operator");
    const HostLock lock;
    auto& op = *reinterpret_cast<Operator*>(const_cast<ShimOp*>(entry));
    const Schema& s = op.schema;
    ValueRoom room;
    Value* values = room.take(s.args.size());
    read_cells(s, args, n, room, values);
    call_values(op, values, [&](const Value& result) {
      abi::put_results(
          s, result, std::span(results, wanted), [](const Value& v, const ArgType& type) { return cell_of(v, &type); },
          [](ShimCell& c, const ArgType&) { release_cell(c); });
    });
  });
}

int shim_cxx_below_autograd(int on) {
  const bool was = below_autograd;
  if (on >= 0) below_autograd = on != 0;
  return was;
}

int shim_cxx_python(const char* name, const ShimCell* args, size_t n, ShimCell* result) {
  return kept([&] {
    const HostLock lock;
    ValueRoom room;
    Value* values = room.take(n);
    for (size_t i = 0; i < n; ++i) values[i] = value_in(args[i], room);
    call_imported("extensions.cxx_calls", name, {values, n}, into(result));
  });
}

int shim_cxx_item(ShimTensor* handle, ShimCell* result) {
  return kept([&] {
    const Tensor t = tensor_in(handle);
    CHECK(Kind::Runtime, t, "Expected a proper Tensor but got None (or an undefined Tensor in C++)");
    const HostLock lock;
    const Value asked[] = {tensor_value(t), Value(std::string_view("item"))};
    call_imported("extensions.cxx_calls", "method", std::span(asked), into(result));
  });
}

int shim_cxx_from_python(uint32_t tag, void* object, ShimCell* result) {
  return kept([&] {
    interpreter_functions.see(object, [&](const Value& v) {
      ShimCell c = cell_of(v);
      if (c.tag != tag && tag != SHIM_NONE) {
        release_cell(c);
        fail(Kind::Type, "incompatible ", interpreter_objects.type_name(object));
      }
      *result = c;
    });
  });
}

// --- generators ---------------------------------------------------------------------------------------------------------

int shim_cxx_generator(const ShimCell* generator, int what, uint64_t value, uint64_t answer[2]) {
  return kept([&] {
    CHECK(Kind::Runtime, generator->tag == SHIM_OBJECT, "Generator with undefined implementation is not allowed");
    const HostLock lock;
    ValueRoom room;
    Value asked[] = {value_in(*generator, room), {Value::integer, int64_t(value)}};
    asked[1].width = Value::unsigned_word;
    const char* names[] = {"philox", "generator_device", "generator_seed"};
    call_imported("extensions.cxx_function", names[what], std::span(asked), [&](const Value& pair) {
      for (size_t i = 0; i < 2; ++i) answer[i] = uint64_t(pair.items[i].i);  // negative ones as two's complement
    });
  });
}

int shim_cxx_default_generator(int32_t device_type, int32_t index, ShimCell* result) {
  return kept([&] {
    const HostLock lock;
    const Value device(abi::make_device(device_type, index));
    call_imported("extensions.cxx_function", "default_generator", {&device, 1}, into(result));
  });
}

// --- C++ functions and objects as the interpreter's ------------------------------------------------------------------------

int shim_cxx_callable(ShimKernel kernel, void* context, void (*destroy)(void*), ShimCell* result) {
  auto code = std::make_shared<Callable>(kernel, context, destroy);
  return kept([&] {
    const HostLock lock;
    *result = cell_of(ObjectOfCode(std::move(code)).value());
  });
}

int shim_cxx_holder(void* holder, void (*destroy)(void*), const char* kind, ShimCell* result) {
  return kept([&] {
    const HostLock lock;
    const ObjectOfCode object(std::make_shared<Holder>(holder, destroy));
    const Value asked[] = {Value(std::string_view(kind)), object.value()};
    call_imported("extensions.cxx_classes", "instance", std::span(asked), into(result));
  });
}

int shim_cxx_held(const ShimCell* object, const char* kind, void** holder) {
  return kept([&] {
    const HostLock lock;
    ValueRoom room;
    const Value asked[] = {Value(std::string_view(kind)), value_in(*object, room)};
    call_imported("extensions.cxx_classes", "holder_of", std::span(asked), [&](const Value& found) {
      const auto* held = dynamic_cast<const Holder*>(extension_host.code_in(found.held));
      CHECK(Kind::Type, held, "expected an instance of a C++ class");
      *holder = held->held;
    });
  });
}
