// The simulated cuBLASLt's opaque structs, and the attributes by which they are read and written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

namespace {

struct Desc {
  int32_t compute, scale, trans_a = 0, trans_b = 0;
  uint32_t epilogue = 1;
  int32_t bias_type = -1, a_mode = 0, b_mode = 0, sm = 0;
  int8_t fast = 0;
  void *bias = nullptr, *aux = nullptr;
  const float *scale_a = nullptr, *scale_b = nullptr;
  int64_t bias_stride = 0, aux_ld = 0, aux_stride = 0;
};
struct Layout {
  int32_t type, batch = 1;
  uint64_t rows, cols;
  int64_t ld, stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t mask = 7, align[4] = {256, 256, 256, 256};
};
struct Algo {
  uint64_t number;
  uint32_t align[4];
  uint64_t rest[5];
};
struct Result {
  Algo algo;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Desc) <= 256 && sizeof(Layout) <= 64 && sizeof(Preference) <= 64 && sizeof(Result) == 96);

enum { Ok = 0, Invalid = 7, NotSupported = 15 };

struct Field {
  size_t offset, size;
};
template <class T>
int access(T* object, const std::map<int, Field>& fields, int attribute, void* to, const void* from, size_t size,
    size_t* written) {
  auto it = fields.find(attribute);
  if (it == fields.end() || it->second.size != size) return Invalid;
  char* p = reinterpret_cast<char*>(object) + it->second.offset;
  if (from) std::memcpy(p, from, size);
  if (to) std::memcpy(to, p, size);
  if (written) *written = size;
  return Ok;
}
#define F(type, member) {offsetof(type, member), sizeof(type::member)}
const std::map<int, Field> desc_fields = {{0, F(Desc, compute)}, {1, F(Desc, scale)}, {3, F(Desc, trans_a)},
    {4, F(Desc, trans_b)}, {7, F(Desc, epilogue)}, {8, F(Desc, bias)}, {10, F(Desc, bias_stride)}, {11, F(Desc, aux)},
    {12, F(Desc, aux_ld)}, {13, F(Desc, aux_stride)}, {15, F(Desc, sm)}, {17, F(Desc, scale_a)}, {18, F(Desc, scale_b)},
    {25, F(Desc, fast)}, {26, F(Desc, bias_type)}, {31, F(Desc, a_mode)}, {32, F(Desc, b_mode)}};
const std::map<int, Field> layout_fields = {{0, F(Layout, type)}, {2, F(Layout, rows)}, {3, F(Layout, cols)},
    {4, F(Layout, ld)}, {5, F(Layout, batch)}, {6, F(Layout, stride)}};
const std::map<int, Field> preference_fields = {{1, F(Preference, workspace)}, {3, F(Preference, mask)},
    {5, {offsetof(Preference, align), 4}}, {6, {offsetof(Preference, align) + 4, 4}},
    {7, {offsetof(Preference, align) + 8, 4}}, {8, {offsetof(Preference, align) + 12, 4}}};
#undef F

}  // namespace
