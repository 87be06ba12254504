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

}  // namespace

Outcome<Tensor> cat(TensorList tensors, int64_t dim) {
  const Outcome<Joined> joined = joined_of(tensors, dim);
  if (!joined) return joined.why();
  return unlocked(joined->elements, [&] {
    Tensor out = empty(joined->sizes, joined->dtype, Device{}, false, joined->format);
    if (joined->format == MemoryFormat::contiguous && !joined->mixed)
      join_bytes(out, joined->parts, joined->dim);
    else
      copy_parts(out, pointers_of(joined->parts), int64_t(joined->dim));
    return out;
  });
}

Outcome<Tensor> stack(TensorList tensors, int64_t dim) { return stacked(tensors, dim, cat); }

}  // namespace shim
