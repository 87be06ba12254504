// Lists, strings, optional cells, devices, generators and threads of the stable C ABI.
#include <algorithm>
#include <memory>

#include "abi/abi.h"
#include "cpu/parallel.h"

namespace shim::abi {
namespace {

thread_local uint32_t thread_index = 0;
thread_local bool in_parallel = false;

void release_element(const ArgType& type, Cell v) noexcept {
  if (type.base == ArgType::Tensor) {
    if (is_defined(reinterpret_cast<Handle>(v))) reinterpret_cast<Handle>(v)->release();
  } else if (type.base == ArgType::Str) {
    delete reinterpret_cast<std::string*>(v);
  } else if (type.base == ArgType::Generator) {
    if (v) reinterpret_cast<HeldGenerator*>(v)->release();
  }
}

void release_cell(const ArgType& type, Cell v) noexcept {
  if (!v) return;
  auto* cell = reinterpret_cast<Cell*>(v);
  release_element(type, *cell);
  delete cell;
}

void release_list(const ArgType& type, Cell v) noexcept {
  auto* list = reinterpret_cast<List*>(v);
  if (!list) return;
  for (Cell element : *list) type.element_optional ? release_cell(type, element) : release_element(type, element);
  delete list;
}

}  // namespace

void release(const ArgType& type, Cell v) noexcept {
  if (type.list && type.optional) {
    if (!v) return;
    auto* cell = reinterpret_cast<Cell*>(v);
    release_list(type, *cell);
    delete cell;
  } else if (type.list) {
    release_list(type, v);
  } else if (type.optional) {
    release_cell(type, v);
  } else {
    release_element(type, v);
  }
}

void release_arguments(const Schema& schema, const Cell* stack, size_t n) noexcept {
  for (size_t i = 0; i < n; ++i) release(schema.args[i].type, stack[i]);
}

}  // namespace shim::abi

using namespace shim;
using namespace shim::abi;

namespace {

List& list_of(List* list) {
  CHECK(Kind::Runtime, list, "a null list handle was given");
  return *list;
}
std::string& string_of(std::string* string) {
  CHECK(Kind::Runtime, string, "a null string handle was given");
  return *string;
}
Cell& element(List* list, size_t index) {
  List& all = list_of(list);
  CHECK(Kind::Runtime, index < all.size(), "list index ", index, " is out of range: the list has ", all.size(),
      " elements");
  return all[index];
}

}  // namespace

SHIM_EXPORT Err torch_new_list_reserve_size(size_t size, List** result) {
  return caught([&] {
    auto list = std::make_unique<List>();
    list->reserve(size);
    *result = list.release();
  });
}
SHIM_EXPORT Err torch_list_size(List* list, size_t* result) {
  return caught([&] { *result = list_of(list).size(); });
}
SHIM_EXPORT Err torch_list_get_item(List* list, size_t index, Cell* result) {
  return caught([&] { *result = element(list, index); });
}
SHIM_EXPORT Err torch_list_set_item(List* list, size_t index, Cell value) {
  return caught([&] { element(list, index) = value; });
}
SHIM_EXPORT Err torch_list_push_back(List* list, Cell value) {
  return caught([&] { list_of(list).push_back(value); });
}
SHIM_EXPORT Err torch_delete_list(List* list) {
  delete list;
  return 0;
}

SHIM_EXPORT Err torch_new_string_handle(const char* data, size_t length, std::string** result) {
  return caught([&] { *result = new std::string(data ? data : "", data ? length : 0); });
}
SHIM_EXPORT Err torch_delete_string(std::string* string) {
  delete string;
  return 0;
}
SHIM_EXPORT Err torch_string_length(std::string* string, size_t* result) {
  return caught([&] { *result = string_of(string).size(); });
}
SHIM_EXPORT Err torch_string_c_str(std::string* string, const char** result) {
  return caught([&] { *result = string_of(string).c_str(); });
}

SHIM_EXPORT Err torch_new_stable_ivalue(Cell** result) {
  return caught([&] { *result = new Cell(0); });
}
SHIM_EXPORT Err torch_delete_stable_ivalue(Cell* value) {
  delete value;
  return 0;
}

SHIM_EXPORT Err torch_parse_device_string(const char* text, uint32_t* type, int32_t* index) {
  return caught([&] {
    CHECK(Kind::Runtime, text, "a null device string was given");
    const Device d = parse_device(text);
    *type = uint32_t(d.type);
    *index = d.index;
  });
}

SHIM_EXPORT Err torch_new_generator_handle(HeldGenerator* generator, HeldGenerator** result) {
  return caught([&] {
    CHECK(Kind::Runtime, generator, "a null generator handle was given");
    generator->retain();
    *result = generator;
  });
}
SHIM_EXPORT Err torch_delete_generator(HeldGenerator* generator) {
  return caught([&] {
    if (generator) generator->release();
  });
}
SHIM_EXPORT Err torch_generator_get_device(HeldGenerator* generator, int32_t* type, int32_t* index) {
  return caught([&] {
    CHECK(Kind::Runtime, generator, "a null generator handle was given");
    *type = int32_t(generator->device.type);
    *index = generator->device.index;
  });
}

// --- threads ----------------------------------------------------------------------------------------------------------
SHIM_EXPORT Err torch_get_num_threads(uint32_t* result) {
  *result = uint32_t(num_threads());
  return 0;
}
SHIM_EXPORT Err torch_get_thread_idx(uint32_t* result) {
  *result = abi::thread_index;
  return 0;
}

SHIM_EXPORT Err torch_parallel_for(
    int64_t begin, int64_t end, int64_t grain, void (*function)(int64_t, int64_t, void*), void* context) {
  return caught([&] {
    CHECK(Kind::Runtime, grain >= 0, "torch_parallel_for: negative grain size ", grain);
    if (begin >= end) return;
    const int64_t n = end - begin, pieces = std::min<int64_t>(num_threads(),
                                       (n + std::max<int64_t>(grain, 1) - 1) / std::max<int64_t>(grain, 1));
    if (pieces <= 1 || in_parallel) return function(begin, end, context);
    const int64_t step = (n + pieces - 1) / pieces;
    parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t from = begin + i * step, to = std::min(end, from + step);
        if (from >= to) continue;
        struct Inside {
          uint32_t before = abi::thread_index;
          explicit Inside(uint32_t index) {
            abi::thread_index = index;
            in_parallel = true;
          }
          ~Inside() {
            abi::thread_index = before;
            in_parallel = false;
          }
        } inside{uint32_t(i)};
        function(from, to, context);
      }
    });
  });
}
