#include "cuda/attention_problem.h"

#include <algorithm>

#include "cuda/reasons.h"

namespace shim::cuda {

Tensor in_lines(const Tensor& t) {
  bool good = t->strides()[3] == 1 && reinterpret_cast<uintptr_t>(t->data()) % 16 == 0;
  for (int d = 0; d < 3; ++d) good = good && t->strides()[size_t(d)] % 8 == 0;
  return good ? t : clone(t, MemoryFormat::contiguous);
}

Outcome<Problem> problem_of(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
    const AttentionDropout& dropout) {
  if (const char* why = not_floats({&q, &k, &v})) return NotMine{why};
  if (!(dropout.p >= 0 && dropout.p < 1)) return NotMine{"all weights left out"};
  const DType t = q->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (t != DType::f16 && t != DType::bf16) return kOtherDtype;
  if (k->dtype() != t || v->dtype() != t) return kMixedDtypes;
  if (q->dim() != 4 || k->dim() != 4) return kOtherSizes;
  const IntArrayRef of = q->sizes(), keys = k->sizes();
  if (!std::ranges::equal(keys, v->sizes()) || of[0] != keys[0] || of[3] != keys[3] || !keys[1] || of[1] % keys[1])
    return kOtherSizes;
  if (of[3] % 16 || of[3] > 128) return NotMine{"a head size other than a multiple of 16 up to 128"};
  if (of[0] * of[1] > kMostRows || std::max(of[2], keys[2]) > (1 << 24)) return kTooMany;
  if (mask && mask->dtype() != DType::b8 && mask->dtype() != t) return kMixedDtypes;
  if (mask && mask->dim() > 4) return kOtherSizes;
  return Problem{t, int(of[3]), !mask ? 0 : mask->dtype() == DType::b8 ? 1 : 2, causal, dropout.p > 0};
}

std::vector<std::string> macros_of(const Problem& p, int tiles, bool split) {
  std::vector<std::string> macros{str("ELEMENT=", element_type(p.type)), str("D=", p.size), str("TILES=", tiles),
      str("CAUSAL=", int(p.causal)), str("MASK=", p.kind), str("DROPS=", int(p.drops))};
  if (split) macros.push_back("SPLIT=1");
  return macros;
}

bool takes_tiles(const Problem& p, IntArrayRef of, IntArrayRef keys, double scale, int device, int64_t least) {
  return (p.size == 64 || p.size == 128) && of[2] >= least && scale > 0 && hopper_processors(device) > 0 &&
         (std::max(of[2], keys[2]) + 127) / 128 * of[0] * of[1] <= kMostBlocks;
}

MaskStrides mask_strides(const Tensor& mask, IntArrayRef q, IntArrayRef k) {
  if (!mask) return {};
  const Tensor whole = expand(*mask, Dims{q[0], q[1], q[2], k[2]});
  return {whole->strides()[0], whole->strides()[1], whole->strides()[2], whole->strides()[3]};
}

Tensor beside(IntArrayRef of, int64_t rows, DType t, Device device) {
  const int64_t order[] = {0, 2, 1, 3};
  return permute(*empty(Dims{of[0], rows, of[1], of[3]}, t, device), order);
}

}  // namespace shim::cuda
