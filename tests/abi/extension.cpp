// An extension that uses PyTorch's stable C functions by hand: what the headers generate, without the headers.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

using Value = uint64_t;
using Tensor = struct TensorOpaque*;
using Library = struct LibraryOpaque*;
using List = struct ListOpaque*;
using String = struct StringOpaque*;
using Kernel = void (*)(Value*, uint64_t, uint64_t);

extern "C" {
int32_t aoti_torch_library_init_def(const char*, const char*, uint32_t, Library*);
int32_t aoti_torch_library_init_impl(const char*, const char*, const char*, uint32_t, Library*);
int32_t aoti_torch_library_init_fragment(const char*, const char*, uint32_t, Library*);
int32_t aoti_torch_library_def(Library, const char*);
int32_t torch_library_def_with_tags(Library, const char*, const int32_t*, int32_t);
int32_t torch_library_impl(Library, const char*, Kernel, uint64_t);
int32_t aoti_torch_delete_library_object(Library);
int32_t torch_call_dispatcher(const char*, const char*, Value*, uint64_t);
int32_t aoti_torch_get_numel(Tensor, int64_t*);
int32_t aoti_torch_get_data_ptr(Tensor, void**);
int32_t aoti_torch_get_size(Tensor, int64_t, int64_t*);
int32_t aoti_torch_delete_tensor_object(Tensor);
int32_t aoti_torch_new_uninitialized_tensor(Tensor*);
int32_t torch_from_blob(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, Tensor*,
    int32_t, const uint8_t*, int64_t, void (*)(void*, void*), void*);
int32_t torch_new_list_reserve_size(size_t, List*);
int32_t torch_list_push_back(List, Value);
int32_t torch_list_size(List, size_t*);
int32_t torch_list_get_item(List, size_t, Value*);
int32_t torch_delete_list(List);
int32_t torch_new_string_handle(const char*, size_t, String*);
int32_t torch_string_c_str(String, const char**);
int32_t torch_delete_string(String);
int32_t torch_parallel_for(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void*), void*);
int32_t aoti_torch_aten_narrow(Tensor, int64_t, int64_t, int64_t, Tensor*);
int32_t aoti_torch_proxy_executor_call_function();
int32_t torch_tag_pointwise();
const char* torch_exception_get_what_without_backtrace();
int32_t aoti_torch_is_defined(Tensor, bool*);
}

namespace {

void check(int32_t error) {
  if (error) throw std::runtime_error(torch_exception_get_what_without_backtrace());
}
Tensor tensor(Value v) { return reinterpret_cast<Tensor>(v); }
Value value(Tensor t) { return reinterpret_cast<Value>(t); }
Value number(double x) { return *reinterpret_cast<Value*>(&x); }

// twice(Tensor x) -> Tensor, float32
void twice(Value* stack, uint64_t, uint64_t) {
  Tensor x = tensor(stack[0]);
  int64_t n;
  void* p;
  check(aoti_torch_get_numel(x, &n));
  check(aoti_torch_get_data_ptr(x, &p));
  auto* out = new float[n + 1];
  for (int64_t i = 0; i < n; ++i) out[i] = 2 * static_cast<float*>(p)[i];
  check(aoti_torch_delete_tensor_object(x));
  const int64_t stride = 1;
  Tensor result;
  check(torch_from_blob(
      out, 1, &n, &stride, 0, 6, 0, 0, &result, 0, nullptr, 0,
      [](void* data, void*) { delete[] static_cast<float*>(data); }, nullptr));
  stack[0] = value(result);
}

// echo(...): every kind of value comes back as it went in
void echo(Value*, uint64_t, uint64_t) {}

// fails_like(int kind) -> (): an exception of the standard library
void fails_like(Value* stack, uint64_t, uint64_t) {
  switch (stack[0]) {
    case 0: throw std::out_of_range("the kernel's place");
    case 1: throw std::invalid_argument("the kernel's value");
    case 2: throw std::overflow_error("the kernel's size");
    default: throw std::logic_error("the kernel's logic");
  }
}

// fails(str text) -> ()
void fails(Value* stack, uint64_t, uint64_t) {
  auto s = reinterpret_cast<String>(stack[0]);
  const char* chars;
  check(torch_string_c_str(s, &chars));
  std::string text = chars;
  torch_delete_string(s);
  throw std::runtime_error(text);
}

// add(Tensor a, Tensor b) -> Tensor through the operator table
void multiply(Value* stack, uint64_t, uint64_t) { check(torch_call_dispatcher("aten::mul", "Tensor", stack, 0)); }

// call(Tensor x) -> Tensor: this library's own operator
void call_own(Value* stack, uint64_t, uint64_t) { check(torch_call_dispatcher("abi_test::twice", "", stack, 0)); }

void call_unknown(Value* stack, uint64_t, uint64_t) {
  check(torch_call_dispatcher("aten::no_such_operator", "", stack, 0));
}
void call_missing(Value*, uint64_t, uint64_t) { check(aoti_torch_proxy_executor_call_function()); }
void nothing(Value* stack, uint64_t, uint64_t) {
  Tensor t;
  check(aoti_torch_new_uninitialized_tensor(&t));
  stack[0] = value(t);
}
void use_nothing(Value*, uint64_t, uint64_t) {
  Tensor t;
  int64_t n;
  check(aoti_torch_new_uninitialized_tensor(&t));
  check(aoti_torch_get_numel(t, &n));
}

// sum_squares(int n) -> float, in parallel
void sum_squares(Value* stack, uint64_t, uint64_t) {
  struct Work {
    double part[4096];
  } work{};
  check(torch_parallel_for(
      0, int64_t(stack[0]), 16,
      [](int64_t begin, int64_t end, void* context) {
        auto* w = static_cast<Work*>(context);
        for (int64_t i = begin; i < end; ++i) w->part[i] = double(i) * double(i);
      },
      &work));
  double sum = 0;
  for (double x : work.part) sum += x;
  stack[0] = number(sum);
}

// add_three(Tensor a, Tensor b, Tensor c) -> Tensor: the call's own cost
void three(Value* stack, uint64_t, uint64_t) {
  aoti_torch_delete_tensor_object(tensor(stack[1]));
  aoti_torch_delete_tensor_object(tensor(stack[2]));
}

// keep_until_exit(Tensor x) -> (): the handle is dropped by a static destructor
struct Kept {
  Tensor tensor[8];
  int count = 0;
  ~Kept() {
    while (count) aoti_torch_delete_tensor_object(tensor[--count]);
  }
} kept;
void keep_until_exit(Value* stack, uint64_t, uint64_t) { kept.tensor[kept.count++] = tensor(stack[0]); }

// The operator that `forward` calls in the place of the one it implements.
std::string target, target_overload;
void forward(Value* stack, uint64_t, uint64_t) {
  check(torch_call_dispatcher(target.c_str(), target_overload.c_str(), stack, 0));
}

struct Registration {
  Library def, cpu, composite, other;
  Registration() {
    aoti_torch_library_init_def("abi_test", __FILE__, __LINE__, &def);
    for (const char* schema : {"twice(Tensor x) -> Tensor", "fails(str text) -> ()", "fails_like(int kind) -> ()",
             "multiply(Tensor a, Tensor b) -> Tensor", "call_own(Tensor x) -> Tensor",
             "call_unknown(Tensor x) -> Tensor", "call_missing() -> ()", "nothing() -> Tensor", "use_nothing() -> ()",
             "sum_squares(int n) -> float", "three(Tensor a, Tensor b, Tensor c) -> Tensor",
             "undone(Tensor x) -> Tensor", "keep_until_exit(Tensor x) -> ()",
             "echo(int i, float f, bool b, str s, ScalarType t, Device d, MemoryFormat m, Layout l, Tensor x) -> "
             "(int, float, bool, str, ScalarType, Device, MemoryFormat, Layout, Tensor)",
             "echo.optional(int? i, float? f, bool? b, str? s, ScalarType? t, Device? d, Tensor? x) -> "
             "(int?, float?, bool?, str?, ScalarType?, Device?, Tensor?)",
             "echo.list(int[] i, float[] f, bool[] b, str[] s, Tensor[] x, Tensor?[] y, int[]? z, int[3]? w = None) -> "
             "(int[], float[], bool[], str[], Tensor[], Tensor?[], int[]?, int[]?)"})
      aoti_torch_library_def(def, schema);
    const int32_t tags[] = {torch_tag_pointwise()};
    torch_library_def_with_tags(def, "tagged(Tensor(a!) x) -> Tensor(a!)", tags, 1);
    aoti_torch_library_init_impl("abi_test", "CPU", __FILE__, __LINE__, &cpu);
    aoti_torch_library_init_impl("abi_test", "CompositeExplicitAutograd", __FILE__, __LINE__, &composite);
    for (auto [name, kernel] : std::initializer_list<std::pair<const char*, Kernel>>{
             {"twice", twice}, {"multiply", multiply}, {"tagged", echo}})
      torch_library_impl(cpu, name, kernel, 0);
    for (auto [name, kernel] : std::initializer_list<std::pair<const char*, Kernel>>{{"fails", fails},
             {"fails_like", fails_like}, {"call_own", call_own}, {"call_unknown", call_unknown},
             {"call_missing", call_missing}, {"nothing", nothing}, {"use_nothing", use_nothing},
             {"keep_until_exit", keep_until_exit}, {"sum_squares", sum_squares}, {"three", three}, {"echo", echo},
             {"echo.optional", echo}, {"echo.list", echo}})
      torch_library_impl(composite, name, kernel, 0);
    aoti_torch_library_init_impl("abi_python", "CPU", __FILE__, __LINE__, &other);
    torch_library_impl(other, "before", twice, 0);  // its definition comes from Python
    torch_library_impl(other, "after", twice, 0);
  }
  ~Registration() {
    for (Library l : {def, cpu, composite, other}) aoti_torch_delete_library_object(l);
  }
} registration;

}  // namespace

// For the tests of random schemas: one operator more, whose returns are its arguments.
extern "C" __attribute__((visibility("default"))) int abi_test_define_echo(const char* schema, const char* name) {
  return aoti_torch_library_def(registration.def, schema) || torch_library_impl(registration.composite, name, echo, 0);
}

// One operator more, that hands its arguments as they are to the operator set with abi_test_target.
extern "C" __attribute__((visibility("default"))) int abi_test_define_forward(const char* schema, const char* name) {
  return aoti_torch_library_def(registration.def, schema) ||
         torch_library_impl(registration.composite, name, forward, 0);
}
extern "C" __attribute__((visibility("default"))) void abi_test_target(const char* name, const char* overload) {
  target = name;
  target_overload = overload;
}
