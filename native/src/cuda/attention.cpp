#include "cuda/attention.h"

#include <algorithm>

#include "cuda/attention_source.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const char* source() {
  static const char* text = joined_source({kAttentionSource});
  return text;
}
const Family family{"attention", source};
constexpr int kThreads = 128;

struct Strides { int64_t batch, head, row; };
struct MaskStrides { int64_t batch = 0, head = 0, row = 0, col = 0; };

Strides strides_of(const Tensor& t) { return {t->strides()[0], t->strides()[1], t->strides()[2]}; }

// With rows of neighbouring elements that begin at 16 bytes.
Tensor in_lines(const Tensor& t) {
  bool good = t->strides()[3] == 1 && reinterpret_cast<uintptr_t>(t->data()) % 16 == 0;
  for (int d = 0; d < 3; ++d) good = good && t->strides()[size_t(d)] % 8 == 0;
  return good ? t : clone(t, MemoryFormat::contiguous);
}

}  // namespace

Tensor attention(const Tensor& q0, const Tensor& k0, const Tensor& v0, const Tensor& mask, bool causal, double scale, Tensor* lse) {
  const DType t = q0->dtype();
  const DimSpan of = q0->sizes(), keys = k0->sizes();
  if (!kernels_ready() || (t != DType::f16 && t != DType::bf16) || q0->dim() != 4 || k0->dim() != 4 || k0->dtype() != t || v0->dtype() != t) return {};
  if (!std::ranges::equal(keys, v0->sizes()) || of[0] != keys[0] || of[3] != keys[3] || !keys[1] || of[1] % keys[1]) return {};
  if (of[3] % 16 || of[3] > 128 || !of[3] || !q0->numel() || !k0->numel() || of[0] * of[1] > kMostRows || std::max(of[2], keys[2]) > (1 << 24)) return {};
  if (mask && ((mask->dtype() != DType::b8 && mask->dtype() != t) || mask->dim() > 4)) return {};
  const int device = q0->device().index, size = int(of[3]), tiles = size <= 64 ? 2 : 1, kind = !mask ? 0 : mask->dtype() == DType::b8 ? 1 : 2;
  const CUfunction f = find_kernel(family, "attention", key_of(int(t), size / 16, int(causal), kind), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "D=" + std::to_string(size), "TILES=" + std::to_string(tiles),
                                    std::string("CAUSAL=") + (causal ? "1" : "0"), "MASK=" + std::to_string(kind)};
  });
  if (!f) return {};
  const Tensor q = in_lines(q0), k = in_lines(k0), v = in_lines(v0);
  const int64_t order[] = {0, 2, 1, 3};
  const Tensor out = permute(*empty(Dims{of[0], of[2], of[1], of[3]}, t, q0->device()), order);
  *lse = empty(Dims{of[0], of[1], of[2]}, DType::f32, q0->device());
  MaskStrides sm;
  if (mask) {
    const Tensor whole = expand(*mask, Dims{of[0], of[1], of[2], keys[2]});
    sm = {whole->strides()[0], whole->strides()[1], whole->strides()[2], whole->strides()[3]};
  }
  const void *from = q->data(), *of_keys = k->data(), *values = v->data(), *bias = mask ? mask->data() : nullptr;
  void *to = out->data(), *sums = (*lse)->data();
  Strides sq = strides_of(q), sk = strides_of(k), sv = strides_of(v), so = strides_of(out);
  int heads = int(of[1]), group = int(of[1] / keys[1]), rows = int(of[2]), cols = int(keys[2]);
  float factor = float(scale);
  void* arguments[] = {&from, &of_keys, &values, &bias, &to, &sums, &sq, &sk, &sv, &so, &sm, &heads, &group, &rows, &cols, &factor};
  launch(f, (of[2] + 64 * tiles - 1) / (64 * tiles), of[0] * of[1], kThreads, 1, arguments, device);
  return out;
}

}  // namespace shim::cuda
