#include "ops/overlap.h"

#include <algorithm>
#include <cstring>

#include "core/dense.h"
#include "core/warning.h"

namespace shim {
namespace {

enum class Overlap { none, part, full };

Overlap overlap_of(const TensorImpl& a, const TensorImpl& b) {
  if (&a == &b) return Overlap::full;
  if (a.storage().get() != b.storage().get() || a.numel() == 0 || b.numel() == 0 || !dense(a) || !dense(b))
    return Overlap::none;
  const int64_t a0 = a.storage_offset() * int64_t(a.itemsize()), b0 = b.storage_offset() * int64_t(b.itemsize());
  const int64_t a1 = a0 + a.numel() * int64_t(a.itemsize()), b1 = b0 + b.numel() * int64_t(b.itemsize());
  if (a0 == b0 && a1 == b1) return std::ranges::equal(a.strides(), b.strides()) ? Overlap::full : Overlap::part;
  return a0 < b1 && b0 < a1 ? Overlap::part : Overlap::none;
}

}  // namespace

void check_overlap(const TensorImpl& target, const TensorImpl& read, const Operator& f) {
  if (read.storage().get() != target.storage().get()) return;
  const Overlap found = overlap_of(target, read);
  CHECK(Kind::Runtime, found == Overlap::none || (found == Overlap::full && f.traits->overlap != OutOverlap::refused),
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please "
      "clone() the tensor before performing the operation.");
}

void check_own_places(const TensorImpl& t, const Operator& f) {
  bool shared = false;
  for (size_t i = 0; i < size_t(t.dim()); ++i) shared |= t.strides()[i] == 0 && t.sizes()[i] > 1;
  if (!shared || t.numel() == 0) return;
  const char* expanded = f.traits->expanded;
  CHECK(Kind::Runtime, expanded,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please "
      "clone() the tensor before performing the operation.");
  if (!std::strcmp(expanded, "same_value")) return;
  warn_user(str("Use of ", f.traits->part_of ? f.traits->part_of : f.schema.name.c_str(),
      "_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
      "This also applies to advanced indexing e.g. ",
      expanded));
}

}  // namespace shim
