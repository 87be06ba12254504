// Kernels that order, count and accumulate rows, over the lengths around which they choose another way: for the sanitizers, and places
// and values are compared with each other.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "cpu/unique.h"
#include "cpu/lookup.h"
#include "cpu/mode.h"
#include "cpu/reduce.h"
#include "cpu/scan.h"
#include "cpu/sorting.h"
#include "cpu/statistics.h"
#include "ops/kernels.h"

using namespace shim;

namespace {

using Random = std::mt19937_64;

// Any bits (NaNs and infinities among them), few of them that differ, or one value.
Tensor random_elements(Random& r, IntArrayRef sizes, DType t) {
  Tensor x = empty(sizes, t, Device{});
  auto* p = static_cast<uint8_t*>(x->data());
  const size_t bytes = x->itemsize(), kinds = size_t(1) << (r() % 3 * 8);
  for (int64_t i = 0; i < x->numel(); ++i) {
    uint64_t bits = (kinds > 256 ? r() : (r() % kinds) * 0x9e3779b97f4a7c15);
    if (t == DType::b8) bits &= 1;
    std::memcpy(p + size_t(i) * bytes, &bits, bytes);
  }
  return x;
}

void expect(bool right, const char* what, const Tensor& x) {
  if (right) return;
  std::fprintf(stderr, "%s of %s %s is wrong\n", what, dtype_name(x->dtype()), bracketed(x->sizes()).c_str());
  std::abort();
}

// The values are the elements at these places along the last dim (where the places are of another dim: inside of it).
void compare(const char* what, const Tensor& x, int64_t dim, const Outcome<ValuesAndIndices>& outcome) {
  if (!outcome) return;
  const auto& [values, places] = *outcome;
  expect(places->numel() == values->numel(), what, x);
  const int64_t n = x->size(dim), width = values->dim() ? values->size(-1) : 0;
  const size_t bytes = x->itemsize();
  const Tensor rows = contiguous(x), at = contiguous(places), found = contiguous(values);
  for (int64_t i = 0; i < at->numel(); ++i) {
    const int64_t place = at->data_as<int64_t>()[i];
    expect(place >= 0 && place < n, what, x);
    if (dim == x->dim() - 1 && values->dim() == x->dim())
      expect(!std::memcmp(static_cast<char*>(rows->data()) + size_t(i / width * n + place) * bytes,
                 static_cast<char*>(found->data()) + size_t(i) * bytes, bytes),
          what, x);
  }
}

// What PyTorch refuses (an extreme of no elements, say) is refused with an error.
template <class F> void unless_refused(F call) {
  try {
    call();
  } catch (const Error&) {}
}

void order(Random& r, const Tensor& x, int64_t dim) {
  const int64_t n = x->size(dim);
  for (const bool up : {false, true}) {
    compare("sort", x, dim, sort(x, dim, !up));
    for (const int64_t k : {int64_t(0), std::min<int64_t>(n, 1), n / 2, n, n - 1})
      if (k >= 0) compare("topk", x, dim, top_k(x, k, dim, up, r() % 2));
    unique(x, Ignored{}, up, !up);
    unique_consecutive(x, up, !up, std::nullopt);
  }
  for (const int64_t k : {int64_t(1), n / 2, n, n + 1})
    unless_refused([&] { compare("kthvalue", x, dim, kthvalue(x, k, dim, true)); });
  unless_refused([&] { compare("mode", x, dim, mode(x, dim, true)); });
  unless_refused([&] { median_dim(x, dim, true); });
  unless_refused([&] { max_dim(x, dim, true); });
  unless_refused([&] { min_dim(x, dim, true); });
}

void accumulate(Random& r, const Tensor& x, int64_t dim) {
  unless_refused([&] { argmax(x, dim, false); });
  unless_refused([&] { argmin(x, std::nullopt, false); });
  unless_refused([&] { cummax(x, dim); });
  unless_refused([&] { cummin(x, dim); });
  unless_refused([&] { cumsum(x, dim, x->dtype()); });
  unless_refused([&] { cumprod(x, dim, x->dtype()); });
  const int64_t dims[] = {dim};
  for (int kind = 0; kind <= int(Reduction::nansum); ++kind)
    unless_refused([&] { reduce(Reduction(kind), x, dims, r() % 2, DType::undefined); });
  unless_refused([&] { logsumexp(x, dims, false); });
  unless_refused([&] { softmax(x, dim, std::nullopt); });
  unless_refused([&] { log_softmax(x, dim, std::nullopt); });
  unless_refused([&] { histc(x, 1 + int64_t(r() % 20), 0, 0); });
  unless_refused([&] { isin(x, x, Ignored{}, r() % 2); });
}

void check(Random& r, const Tensor& x, int64_t dim) {
  order(r, x, dim);
  accumulate(r, x, dim);
}

}  // namespace

void rows(uint64_t seed) {
  constexpr int64_t kLengths[] = {0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 1023, 1025};
  constexpr DType kElements[] = {DType::b8, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16,
      DType::bf16, DType::f32, DType::f64};
  Random r(seed);
  for (const DType t : kElements)
    for (const int64_t n : kLengths) {
      const Tensor x = random_elements(r, Dims{3, n}, t);
      check(r, x, 1);
      check(r, transpose(*x, 0, 1), 0);
      check(r, contiguous(transpose(*x, 0, 1)), 0);
    }
}
