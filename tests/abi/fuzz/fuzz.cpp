// Random schemas, stacks and lifetimes against the C interface alone: no interpreter, so that the sanitizers see only us. Before that,
// kernels over rows (rows.cpp).
// fuzz SECONDS [SEED]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "abi/aten_call.h"
#include "abi/operators.h"
#include "ops/kernels.h"

void rows(uint64_t seed);

using namespace shim;
using namespace shim::abi;

extern "C" {
Err aoti_torch_library_init_fragment(const char*, const char*, uint32_t, void**);
Err aoti_torch_library_def(void*, const char*);
Err torch_library_impl(void*, const char*, Kernel, uint64_t);
Err aoti_torch_delete_library_object(void*);
Err torch_call_dispatcher(const char*, const char*, Cell*, uint64_t);
Err aoti_torch_new_tensor_handle(Handle, Handle*);
Err aoti_torch_new_uninitialized_tensor(Handle*);
Err aoti_torch_delete_tensor_object(Handle);
Err aoti_torch_get_size(Handle, int64_t, int64_t*);
Err aoti_torch_get_sizes(Handle, int64_t**);
Err aoti_torch_item_float64(Handle, double*);
Err torch_from_blob(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, Handle*,
    int32_t, const uint8_t*, int64_t, void (*)(void*, void*), void*);
Err torch_list_get_item(List*, size_t, Cell*);
Err torch_delete_list(List*);
Err torch_parse_device_string(const char*, uint32_t*, int32_t*);
Err torch_parallel_for(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void*), void*);
}

namespace {

using Random = std::mt19937_64;
const char* const kTypes[] = {"Tensor", "int", "float", "bool", "str", "ScalarType", "Device", "Tensor?", "int?",
    "str?", "Tensor[]", "int[]", "str[]", "Tensor?[]", "int[]?", "Tensor[]?"};
int64_t live_blobs = 0;
std::atomic<int64_t> freed{0};

size_t below(Random& r, size_t n) { return size_t(r() % n); }

Handle random_tensor(Random& r) {
  Handle h = undefined_handle();
  if (below(r, 8) == 0) return h;
  int64_t sizes[4], strides[4], step = 1;
  const int64_t n = int64_t(below(r, 4));
  for (int64_t i = n - 1; i >= 0; --i) {
    sizes[i] = int64_t(below(r, 4));
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  auto* data = static_cast<float*>(std::calloc(size_t(step), sizeof(float)));
  ++live_blobs;
  if (torch_from_blob(
          data, n, sizes, strides, 0, 6, 0, 0, &h, 0, nullptr, 0,
          [](void* p, void*) {
            std::free(p);
            ++freed;
          },
          nullptr))
    std::abort();
  return h;
}

Cell random_value(Random& r, const ArgType& t) {
  auto plain = [&]() -> Cell {
    switch (t.base) {
      case ArgType::Tensor: return reinterpret_cast<Cell>(random_tensor(r));
      case ArgType::Str: return reinterpret_cast<Cell>(new std::string(below(r, 60), 'x'));
      case ArgType::ScalarType: return below(r, 50);
      case ArgType::Device: return from_device(Device{});
      default: return r();
    }
  };
  auto cell = [](Cell v) { return reinterpret_cast<Cell>(new Cell(v)); };
  if (t.optional && below(r, 3) == 0) return 0;
  Cell v;
  if (t.list) {
    auto* list = new List;
    for (size_t i = below(r, 5); i--;) list->push_back(!t.element_optional ? plain() : below(r, 2) ? cell(plain()) : 0);
    v = reinterpret_cast<Cell>(list);
  } else {
    v = plain();
  }
  return t.optional ? cell(v) : v;
}

struct Made {
  std::string name;
  Schema schema;
};
std::vector<Made> made;

// Takes its arguments as a wheel's kernel does, and sometimes fails after that.
void consume(Cell* stack, uint64_t args, uint64_t returns) {
  // The arity tells the operator: operator n has n arguments (see main).
  release_arguments(made[args].schema, stack, args);
  for (uint64_t i = 0; i < returns; ++i) stack[i] = 0;
  if (args % 7 == 3) throw std::runtime_error("a kernel that fails");
}

}  // namespace

// In the place of the operator table (abi/operators.h).
const Schema* shim::abi::schema_of_operator(const char* name, const char*) {
  for (const Made& m : made)
    if (m.name == name) return &m.schema;
  return nullptr;
}

namespace {

// In the place of the interpreter: takes the arguments, and sometimes fails after that.
void dispatch(const char* name, const char*, Cell* stack, bool) {
  const Schema& s = *schema_of_operator(name, "");
  consume(stack, s.args.size(), s.returns.size());
}

// The same operators by plain arguments, as the C functions of ATen's operators take them; now and then one too few.
struct Plain {
  Random& r;
  std::vector<uint64_t> cells;
  std::vector<Handle> handles;
  std::vector<std::unique_ptr<uint64_t[]>> arrays;
  ~Plain() {
    for (Handle h : handles) aoti_torch_delete_tensor_object(h);
  }

  uint64_t one(const ArgType& t) {
    if (t.base == ArgType::Tensor) {
      handles.push_back(random_tensor(r));
      return cell_of(handles.back());
    }
    if (t.base == ArgType::Str) return cell_of("some text that is longer than a small string");
    return below(r, 9);
  }
  uint64_t array(const ArgType& t, size_t n) {
    arrays.push_back(std::make_unique<uint64_t[]>(n + 1));
    uint64_t* all = arrays.back().get();
    for (size_t i = 0; i < n; ++i) {
      if (t.base == ArgType::Bool || t.base == ArgType::ScalarType)
        reinterpret_cast<int32_t*>(all)[i] = int32_t(one(t));
      else if (!t.element_optional)
        all[i] = one(t);
      else if (below(r, 2)) {
        arrays.push_back(std::make_unique<uint64_t[]>(1));
        arrays.back()[0] = one(t);
        all[i] = cell_of(arrays.back().get());
      }
    }
    return cell_of(all);
  }
  void argument(const ArgType& t) {
    const bool none = t.optional && below(r, 3) == 0;
    const size_t n = t.list ? below(r, 5) : 1;
    if (t.list && t.optional && !none) {
      const uint64_t values = array(t, n);
      arrays.push_back(std::make_unique<uint64_t[]>(1));
      arrays.back()[0] = values;
      cells.push_back(cell_of(arrays.back().get()));
    } else {
      cells.push_back(none ? 0 : t.list || t.optional ? array(t, n) : one(t));
    }
    if (t.list) cells.push_back(n);
    if (t.base == ArgType::Device) cells.push_back(below(r, 3));
  }
};

bool plain_arguments(Random& r, const Made& m) {
  Plain plain{r, {}, {}, {}};
  uint64_t places[2];
  for (const Argument& a : m.schema.args) plain.argument(a.type);
  if (below(r, 2))
    for (size_t i = 0; i < m.schema.returns.size(); ++i) plain.cells.push_back(cell_of(&places[i]));
  const size_t fewer = std::min(plain.cells.size(), below(r, 4) ? size_t(0) : below(r, 3));
  return call_aten(m.name.c_str(), "", plain.cells.data(), plain.cells.size() - fewer) != 0;
}

void mutate_schema(Random& r, void* library) {
  std::string text = "op" + std::to_string(below(r, 9)) +
                     "(Tensor(a!) x, int[2]? y=None, *, str s='a', Tensor?[] z, float f=1e-3) -> (Tensor(a!), int[])";
  for (size_t k = below(r, 6); k--;) {
    const size_t at = below(r, text.size());
    switch (below(r, 3)) {
      case 0: text[at] = char(below(r, 96) + 32); break;
      case 1: text.erase(at, below(r, 4) + 1); break;
      default: text.insert(at, 1, "()[]?!,=*->'.:"[below(r, 14)]);
    }
    if (text.empty()) text = "x";
  }
  if (aoti_torch_library_def(library, text.c_str())) {  // a bad schema is a problem, not a failure
    std::fprintf(stderr, "%s\n%s\n", text.c_str(), last_error().c_str());
    std::abort();
  }
}

void handles(Random& r) {
  std::vector<Handle> all;
  for (int i = 0; i < 20; ++i) {
    Handle h = random_tensor(r), copy;
    if (aoti_torch_new_tensor_handle(h, &copy)) std::abort();
    all.push_back(h);
    all.push_back(copy);
    int64_t n;
    double x;
    aoti_torch_get_size(h, int64_t(below(r, 9)) - 4, &n);
    aoti_torch_item_float64(h, &x);
  }
  std::thread other([mine = std::vector<Handle>(all.begin(), all.begin() + 20)] {
    for (Handle h : mine) aoti_torch_delete_tensor_object(h);
  });
  for (size_t i = 20; i < all.size(); ++i) aoti_torch_delete_tensor_object(all[i]);
  other.join();
}

void odd_inputs(Random& r) {
  uint32_t type;
  int32_t index;
  std::string text;
  for (size_t i = below(r, 12); i--;) text += char(below(r, 127) + 1);
  torch_parse_device_string(text.c_str(), &type, &index);
  torch_parse_device_string(nullptr, &type, &index);
  Cell v;
  List list(below(r, 4));
  torch_list_get_item(&list, below(r, 8), &v);
  torch_list_get_item(nullptr, 0, &v);
  int64_t* sizes;
  aoti_torch_get_sizes(nullptr, &sizes);
  aoti_torch_get_sizes(undefined_handle(), &sizes);
  Handle h = nullptr;
  int64_t bad[] = {-1, 3}, one[] = {1, 1};
  torch_from_blob(bad, 2, bad, one, 0, int32_t(below(r, 60)), int32_t(below(r, 30)), 0, &h, int32_t(below(r, 3)),
      nullptr, 0, nullptr, nullptr);
  torch_parallel_for(
      0, int64_t(below(r, 100)), int64_t(below(r, 9)),
      [](int64_t begin, int64_t, void*) {
        if (begin > 50) throw std::runtime_error("x");
      },
      nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Random r(seed);
  rows(seed);
  void* library;
  aoti_torch_library_init_fragment("fuzz", __FILE__, __LINE__, &library);
  for (size_t n = 0; n < 40; ++n) {  // operator n has n arguments of random types
    std::string schema = "random" + std::to_string(n) + "(";
    for (size_t i = 0; i < n; ++i)
      schema += std::string(i ? ", " : "") + kTypes[below(r, std::size(kTypes))] + " x" + std::to_string(i);
    schema += ") -> " + std::string(n % 3 == 0 ? "()" : n % 3 == 1 ? "int" : "(int, int)");
    made.push_back({"fuzz::random" + std::to_string(n), parse_schema(schema)});
    if (aoti_torch_library_def(library, schema.c_str()) ||
        torch_library_impl(library, made[n].name.substr(6).c_str(), consume, 0))
      std::abort();
  }
  host().dispatch = dispatch;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t rounds = 0, failures = 0;
  for (; std::chrono::steady_clock::now() < end; ++rounds) {
    const Made& m = made[below(r, made.size())];
    std::vector<Cell> stack(std::max(m.schema.args.size(), m.schema.returns.size()) + 1);
    for (size_t i = 0; i < m.schema.args.size(); ++i) stack[i] = random_value(r, m.schema.args[i].type);
    failures += torch_call_dispatcher(m.name.c_str(), "", stack.data(), 0) != 0;
    failures += plain_arguments(r, m);
    if (rounds % 16 == 0) handles(r);
    if (rounds % 8 == 0) mutate_schema(r, library);
    if (rounds % 8 == 4) odd_inputs(r);
    if (rounds % 1024 == 0) take_news();
  }
  aoti_torch_delete_library_object(library);
  std::printf("%llu calls, %llu failed as they should, %lld of %lld blobs freed\n", (unsigned long long)rounds,
      (unsigned long long)failures, (long long)freed.load(), (long long)live_blobs);
  return freed.load() == live_blobs ? 0 : 1;
}
