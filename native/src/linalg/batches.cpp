#include "linalg/batches.h"

namespace shim::linalg {

bool common_lead(const Dims& a, const Dims& b, Dims* to) {
  to->assign(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < to->size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    (*to)[to->size() - 1 - i] = x == 1 ? y : x;
  }
  return true;
}

BatchOffsets::BatchOffsets(const TensorImpl& t, const Dims& lead, int inner) {
  const size_t own = size_t(t.dim() - inner);
  for (size_t i = 0; i < lead.size(); ++i) {
    const bool there = i < own && t.sizes()[own - 1 - i] != 1;
    dims_.push_back({lead[lead.size() - 1 - i], there ? t.strides()[own - 1 - i] : 0});
  }
}

int64_t BatchOffsets::operator[](int64_t i) const {
  int64_t at = 0;
  for (auto [size, stride] : dims_) {
    at += i % size * stride;
    i /= size;
  }
  return at;
}

Readable::Readable(const Tensor& from) : t(from) {
  const auto fits = [](int64_t step, int64_t across, int64_t length) {
    return step == 1 && across >= std::max<int64_t>(1, length);
  };
  const int64_t down = t->strides()[size_t(t->dim() - 2)], right = t->strides()[size_t(t->dim() - 1)];
  if (!fits(down, right, rows_of(*t))) {
    turned = fits(right, down, cols_of(*t));
    if (!turned) t = copied_by_columns(from, lead_of(*from));
  }
  ld = std::max<Int>(1, t->strides()[size_t(t->dim() - (turned ? 2 : 1))]);
}

}  // namespace shim::linalg
