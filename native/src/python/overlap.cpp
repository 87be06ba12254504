#include "python/overlap.h"

#include <algorithm>
#include <cstring>

#include "cpu/loops.h"
#include "python/operator.h"

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

void check_argument(const TensorImpl& target, PyObject* o, bool strict) {
  if (PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) check_argument(target, PyList_GET_ITEM(o, i), strict);
    return;
  }
  if (!is_tensor(o)) return;
  const TensorImpl& read = *unwrap(o);
  if (read.storage().get() != target.storage().get()) return;
  const Overlap found = overlap_of(target, read);
  CHECK(Kind::Runtime, found == Overlap::none || (found == Overlap::full && !strict),
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please "
      "clone() the tensor before performing the operation.");
}

}  // namespace

void check_own_places(const TensorImpl& t, const Operator& f) {
  bool shared = false;  // an expanded tensor has one place for many elements
  for (size_t i = 0; i < size_t(t.dim()); ++i) shared |= t.strides()[i] == 0 && t.sizes()[i] > 1;
  if (!shared || t.numel() == 0) return;
  const char* expanded = f.traits->expanded;
  if (!expanded)
    fail(Kind::Runtime,
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please "
        "clone() the tensor before performing the operation.");
  if (!std::strcmp(expanded, "same_value")) return;
  const std::string name = f.traits->part_of ? f.traits->part_of : f.schema.name;
  std::string text = str("Use of ", name,
      "_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
      "This also applies to advanced indexing e.g. ",
      expanded);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

void check_overlap(const TensorImpl& target, const Operator& f, PyObject* const* args, size_t n) {
  check_own_places(target, f);
  const bool strict = f.traits->overlap == OutOverlap::refused;
  for (size_t i = 0; i < n; ++i) check_argument(target, args[i], strict);
}

}  // namespace shim
