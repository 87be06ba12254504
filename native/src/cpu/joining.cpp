// cat and stack of CPU tensors.
#include <algorithm>
#include <cstring>

#include "cpu/indexing.h"
#include "cpu/parallel.h"
#include "ops/joining.h"

namespace shim {
namespace {

// The parts' bytes one after the other along dim d of a contiguous result.
void join_bytes(const Tensor& out, TensorList tensors, size_t d) {
  const IntArrayRef shape = out->sizes();
  const int64_t outer = product_of(shape, 0, d), total = shape[d],
                inner = product_of(shape, d + 1, shape.size()) * int64_t(out->itemsize());
  char* to = static_cast<char*>(out->data());
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    const int64_t size = t->sizes()[d], bytes = size * inner;
    if (bytes && outer) {
      if (!t->is_contiguous()) {
        copy_(narrow(*out, int64_t(d), start, size), t);
      } else {
        const char* from = static_cast<const char*>(t->data());
        const int64_t step = total * inner;
        if (outer == 1)
          parallel_for(bytes, 1 << 20,
              [&](int64_t b, int64_t e) { std::memcpy(to + start * inner + b, from + b, size_t(e - b)); });
        else
          parallel_for(outer, std::max<int64_t>(1, (1 << 20) / bytes), [&](int64_t b, int64_t e) {
            for (int64_t o = b; o < e; ++o) std::memcpy(to + o * step + start * inner, from + o * bytes, size_t(bytes));
          });
      }
    }
    start += size;
  }
}

// Those of them that satisfy, if all are of one dtype; none: they are not, or all satisfy.
template <class F> std::vector<Tensor> counted(TensorList tensors, F&& satisfies) {
  std::vector<Tensor> rest;
  if (std::ranges::all_of(tensors, satisfies)) return rest;
  for (const Tensor& t : tensors) {
    if (t->dtype() != tensors[0]->dtype() || t->device() != tensors[0]->device()) return {};
    if (satisfies(t)) rest.push_back(t);
  }
  return rest;
}

}  // namespace

Outcome<Tensor> cat(TensorList tensors, int64_t dim) {
  // Empty vectors count for nothing: what a cache begins as.
  const auto counts = [](const Tensor& t) { return t->dim() != 1 || t->numel(); };
  const std::vector<Tensor> rest = counted(tensors, counts);
  if (!rest.empty() && rest.size() < tensors.size()) return cat(rest, dim);
  const Outcome<Joined> joined = joined_sizes(tensors, dim);
  if (!joined) return joined.why();
  const auto& [d, shape, elements, format] = *joined;
  return unlocked(elements, [&] {
    Tensor out = empty(shape, tensors[0]->dtype(), Device{}, false, format);
    if (format == MemoryFormat::contiguous)
      join_bytes(out, tensors, d);
    else
      copy_parts(out, pointers_of(tensors), int64_t(d));
    return out;
  });
}

Outcome<Tensor> stack(TensorList tensors, int64_t dim) { return stacked(tensors, dim, cat); }

}  // namespace shim
