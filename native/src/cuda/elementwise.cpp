#include "cuda/elementwise.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "cuda/entries/elementwise.h"
#include "cuda/kernel_files.h"
#include "cuda/kernel_store.h"
#include "cuda/nvrtc.h"
#include "cuda/transpose.h"

namespace shim::cuda {
namespace {

constexpr int kThreads = 256, kUnroll = 2, kGeometryDims = 10;
constexpr int64_t kWorthTiles = 4096;  // elements of a copy

}  // namespace

const char* element_type(DType t) {
  switch (t) {
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::i16: return "short";
    case DType::i32: return "int";
    case DType::i64: return "i64";
    case DType::u16: return "u16";
    case DType::u32: return "u32";
    case DType::u64: return "u64";
    case DType::f16: return "Half";
    case DType::bf16: return "Bf16";
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::b8: return "Bool";
    case DType::f8e4m3fn: return "E4m3";
    case DType::f8e5m2: return "E5m2";
    case DType::f8e8m0fnu: return "E8m0";  // only ever converted
    case DType::c64: return "Complex64";
    case DType::c128: return "Complex128";
    default: return nullptr;
  }
}

const char* compute_type(DType t) {  // the type of numbers, and of what the functor sees
  if (t == DType::b8) return "u8";
  const bool narrow = t == DType::f16 || t == DType::bf16 || t == DType::f8e4m3fn || t == DType::f8e5m2;
  if (narrow || t == DType::f8e8m0fnu) return "float";
  return element_type(t);
}

namespace {

enum Kind : int { kTensor = 0, kOne = 1, kNumber = 2 };

struct Plan {  // what picks a kernel
  const char* op;
  DType in, result, types[4];
  int kinds[4] = {0, 0, 0, 0}, inputs = 1, vector = 1;
  bool flat = false, wide = false;
};

uint64_t packed(const Plan& p, int device) {
  uint64_t key = uint64_t(uint8_t(p.in)) | uint64_t(uint8_t(p.result)) << 6;
  for (int k = 0; k < 4; ++k) key |= uint64_t(uint8_t(p.types[k])) << (12 + 6 * k);
  for (int k = 1; k < 4; ++k) key |= uint64_t(p.kinds[k]) << (36 + 2 * (k - 1));
  key |= uint64_t(__builtin_ctz(unsigned(p.vector))) << 42 | uint64_t(p.flat) << 46 | uint64_t(p.wide) << 47 |
         uint64_t(uint8_t(device)) << 48;
  return key | uint64_t(p.inputs) << 56;
}

const char* program_of(std::string_view op) {
  return op.starts_with("igamma") ? "elementwise_gamma" : op == "bce_each" ? "elementwise_chances" : "elementwise";
}

// The compiler's macros; empty where there is no such operator.
std::vector<std::string> options_of(const Plan& p) {
  const Functor* functor = functor_of(p.op);
  if (!functor || (!functor->complex && (is_complex(p.in) || is_complex(p.result)))) return {};
  std::vector<std::string> options = {"-DOP=" + functor->name, std::string("-DC=") + compute_type(p.in),
      std::string("-DRESULT=") + compute_type(p.result), std::string("-DLOGIC=") + (p.in == DType::b8 ? "1" : "0"),
      "-DN_IN=" + std::to_string(p.inputs), "-DV=" + std::to_string(p.vector),
      std::string("-DWIDE=") + (p.wide ? "1" : "0"), std::string("-DFLAT=") + (p.flat ? "1" : "0"),
      std::string("-DEXTRA=") + (functor->extra ? "1" : "0")};
  for (int k = 0; k < 4; ++k) {
    options.push_back("-DT" + std::to_string(k) + "=" + element_type(p.types[k]));
    if (k) options.push_back("-DK" + std::to_string(k) + "=" + std::to_string(p.kinds[k]));
  }
  return options;
}

using Flat = entries::elementwise::flat;
using Strided = entries::elementwise::strided;

CUfunction build(const Plan& p, int device) {
  const std::vector<std::string> options = options_of(p);
  if (options.empty()) return nullptr;
  return loaded_kernel(device, program_of(p.op), options, p.flat ? Flat::name : Strided::name);
}

struct KeyHash {
  size_t operator()(const std::pair<const char*, uint64_t>& k) const {
    return size_t(reinterpret_cast<uintptr_t>(k.first) * 0x9e3779b97f4a7c15ull ^ (k.second * 0xff51afd7ed558ccdull));
  }
};

CUfunction kernel_for(const Plan& p, int device) {  // operators' names are literals: their addresses identify them
  thread_local std::unordered_map<std::pair<const char*, uint64_t>, CUfunction, KeyHash> known;
  auto [it, fresh] = known.try_emplace({p.op, packed(p, device)}, nullptr);
  if (fresh) it->second = build(p, device);
  return it->second;
}

struct Geometry {
  int64_t size[kGeometryDims];
  int64_t step[4][kGeometryDims];
  uint32_t factor[kGeometryDims], shift[kGeometryDims];
  int dims;
  uint32_t spread;
};

// Functions that compute longer than their operands take to load: of few elements each thread takes as few as it can.
constexpr int64_t kFewElements = 1 << 19;
bool computes_long(std::string_view op) {
  return op == "igamma" || op == "igammac" || op == "polygamma" || op == "zeta" || op == "digamma" || op == "lgamma";
}

// Whether one loop over elements does: each operand contiguous, or one element for all.
bool flatten(const Nest& nest, const Elementwise& e, Plan& p) {
  if (nest.dims != 1) return false;
  size_t largest = 1;
  for (int k = 0; k < e.count; ++k) {
    const int64_t size = int64_t(itemsize(p.types[k]));
    if (e.numbers[k]) continue;
    if (nest.steps[k][0] == 0 && k > 0 && nest.sizes[0] > 1) {
      p.kinds[k] = kOne;
      continue;
    }
    if (nest.steps[k][0] != size && nest.sizes[0] > 1) return false;
    largest = std::max(largest, size_t(size));
  }
  p.flat = true;
  int vector = int(16 / largest);
  for (int k = 0; k < e.count; ++k) {
    if (e.numbers[k] || p.kinds[k] == kOne) continue;
    while (vector > 1 && reinterpret_cast<uintptr_t>(e.operands[k].data) % (size_t(vector) * itemsize(p.types[k])))
      vector /= 2;
  }
  p.vector = nest.sizes[0] <= kFewElements && computes_long(e.op) ? 1 : vector;
  return true;
}

// How many neighbours along the innermost dimension one access can have: each operand has them together, or one element for all.
int group_of(const Nest& nest, const Elementwise& e) {
  int64_t largest = 1;
  for (int k = 0; k < e.count; ++k) {
    const int64_t size = int64_t(itemsize(e.operands[k].dtype));
    if (e.numbers[k]) continue;
    if (nest.steps[k][0] != size && (k == 0 || nest.steps[k][0])) return 1;
    largest = std::max(largest, size);
  }
  int v = int(16 / largest);
  while (v > 1 && nest.sizes[0] % v) v /= 2;
  for (int k = 0; k < e.count; ++k) {
    if (e.numbers[k] || !nest.steps[k][0]) continue;
    uint64_t begins = reinterpret_cast<uintptr_t>(e.operands[k].data);
    for (int d = 1; d < nest.dims; ++d) begins |= uint64_t(nest.steps[k][d]);
    while (v > 1 && begins % (uint64_t(v) * itemsize(e.operands[k].dtype))) v /= 2;
  }
  return v;
}

void geometry_of(const Nest& nest, const Elementwise& e, int group, Geometry& g) {
  std::memset(&g, 0, sizeof g);
  g.dims = nest.dims;
  for (int d = 0; d < nest.dims; ++d) {
    const uint64_t size = uint64_t(g.size[d] = d ? nest.sizes[d] : nest.sizes[d] / group);
    if (d + 1 < nest.dims && size >> 31 == 0) {  // else nothing is divided by it, or as 64 bits are
      g.shift[d] = size > 1 ? uint32_t(64 - __builtin_clzll(size - 1)) : 0;
      g.factor[d] = uint32_t(((uint64_t(1) << 32) * ((uint64_t(1) << g.shift[d]) - size)) / size + 1);
    }
    for (int k = 0; k < e.count; ++k)
      g.step[k][d] = e.numbers[k] ? 0 : nest.steps[k][d] / int64_t(itemsize(e.operands[k].dtype)) * (d ? 1 : group);
  }
  for (int k = 0; k < e.count; ++k) g.spread |= uint32_t(!e.numbers[k] && !nest.steps[k][0]) << k;
}

}  // namespace

std::string compile_elementwise(
    const char* op, DType in, DType result, DType out, int inputs, bool flat, int architecture) {
  Plan p{op, in, result, {out, in, in, in}};
  p.inputs = inputs;
  p.vector = 4;
  p.flat = flat;
  if (!element_type(in) || !element_type(out)) return "no kernel for this dtype";
  const std::vector<std::string> options = options_of(p);
  if (options.empty()) return std::string("no operator ") + op;
  nvrtc::Compiled c = nvrtc::compile(Specialisation::of(program_of(op), options), architecture);
  return c.cubin.empty() ? c.log : "";
}

bool pointwise_dtype(DType t) { return element_type(t) && t != DType::f8e8m0fnu; }
bool elementwise_dtype(DType t) { return pointwise_dtype(t) && !is_complex(t); }

bool elementwise_ready() { return driver().loaded && driver().launch; }

bool run_elementwise(const Elementwise& e, IntArrayRef shape, int device) {
  if (e.count > 4) return false;
  Plan p{e.op, e.in, e.result, {e.in, e.in, e.in, e.in}};
  p.inputs = e.count - 1;
  for (int k = 0; k < e.count; ++k) {
    if (e.numbers[k])
      p.kinds[k] = kNumber;
    else
      p.types[k] = e.operands[k].dtype;
    if (!element_type(p.types[k])) return false;
  }
  if (!compute_type(p.in) || !compute_type(p.result)) return false;
  const Nest nest = make_nest(shape, e.operands, e.count);
  int64_t n = 1;
  for (int d = 0; d < nest.dims; ++d) n *= nest.sizes[d];
  if (n == 0) return true;
  if (!flatten(nest, e, p)) {
    if (nest.dims > kGeometryDims) return false;
    for (int k = 1; k < e.count; ++k)
      if (p.kinds[k] == kOne) p.kinds[k] = kTensor;
    p.vector = group_of(nest, e);
    n /= p.vector;
    p.wide = n >= int64_t(1) << 31;
  }
  const CUfunction kernel = kernel_for(p, device);
  if (!kernel) return false;
  alignas(16) char none[16] = {};
  void* data[4] = {nullptr, nullptr, nullptr, nullptr};
  Bytes numbers[4] = {{none}, {none}, {none}, {none}};
  for (int k = 0; k < e.count; ++k)
    e.numbers[k] ? void(numbers[k] = {e.operands[k].data}) : void(data[k] = e.operands[k].data);
  struct {
    double wide[6];  // complex numbers are two
    float narrow[6];
    char beyond[48];
  } extra{};
  const int parts = is_complex(p.in) ? 2 : 1;
  for (int k = 0; k < 3; ++k) extra.narrow[parts * k] = float(extra.wide[parts * k] = e.extra[k]);
  // Kernels of other types take no such numbers, and read three of their own size that are not used.
  const bool doubles = itemsize(p.in) == (is_complex(p.in) ? 16 : 8);
  const Bytes beside{doubles ? static_cast<void*>(extra.wide) : extra.narrow};
  const auto together = [&] {
    return std::clamp(32 / (p.vector * int(itemsize(p.types[1]))), 1, 4);
  };  // as the kernel's
  const int64_t per_block = kThreads * (p.flat ? int64_t(kUnroll) * p.vector : n < kFewElements ? 1 : together());
  const int64_t blocks = std::min((n + per_block - 1) / per_block, int64_t(p.flat ? 0x7fffffff : 1 << 20));
  if (p.flat) {
    launch(Kernel<Flat>{kernel}, {blocks}, device, n, data[0], data[1], data[2], data[3], numbers[1], numbers[2],
        numbers[3], beside);
    return true;
  }
  Geometry geometry;
  geometry_of(nest, e, p.vector, geometry);
  launch(Kernel<Strided>{kernel}, {blocks}, device, n, data[0], data[1], data[2], data[3], numbers[1], numbers[2],
      numbers[3], beside, geometry);
  return true;
}

namespace {
DType word_of(size_t bytes) {
  constexpr DType words[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::c128};
  return words[__builtin_ctz(unsigned(bytes))];
}
bool convertible(DType t) { return pointwise_dtype(t) || t == DType::f8e8m0fnu; }
}  // namespace

bool fill_elementwise(const Tensor& self, void* element) {
  if (!elementwise_ready()) return false;
  const DType word = word_of(self->itemsize());
  Elementwise e{"copy", word, word, 2, {Operand::of(*self), {static_cast<char*>(element), word, {}, {}}}};
  e.operands[0].dtype = word;
  e.numbers[1] = true;
  return run_elementwise(e, self->sizes(), self->device().index);
}

bool copy_elementwise(const Tensor& self, const Tensor& src) {
  Elementwise e{"copy", src->dtype(), src->dtype(), 2, {Operand::of(*self), Operand::of(*src)}};
  if (self->dtype() == src->dtype()) {  // bits
    e.in = e.result = e.operands[0].dtype = e.operands[1].dtype = word_of(self->itemsize());
    if (self->numel() >= kWorthTiles &&
        copy_transposed(make_nest(self->sizes(), e.operands, 2), size_t(self->itemsize()), self->device().index))
      return true;
  } else if (!convertible(self->dtype()) || !convertible(src->dtype())) {
    return false;
  }
  return run_elementwise(e, self->sizes(), self->device().index);
}

}  // namespace shim::cuda
