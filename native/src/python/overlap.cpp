#include "python/overlap.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cpu/loops.h"

namespace shim {
namespace {

enum class Overlap { none, part, full };

template <size_t N> bool one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Elements that are read after others were written must not be the same ones at all.
bool reads_while_writing(std::string_view name) {
  static constexpr std::array<std::string_view, 15> names{"index_add", "index_copy", "index_fill", "_index_put_at",
      "index_reduce", "put", "scatter", "scatter_add", "scatter_reduce", "gather", "take", "index_select", "cat",
      "kthvalue", "masked_select"};
  return one_of(name, names);
}

bool warns_when_expanded(std::string_view name) {
  static constexpr std::array<std::string_view, 3> names{"masked_fill", "_index_put_at", "index_fill"};
  return one_of(name, names);
}

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

void check_own_places(const TensorImpl& t, const std::string& name) {
  bool shared = false;  // an expanded tensor has one place for many elements
  for (size_t i = 0; i < size_t(t.dim()); ++i) shared |= t.strides()[i] == 0 && t.sizes()[i] > 1;
  if (!shared || t.numel() == 0 || name.starts_with("fill") || name.starts_with("zero") ||
      name == "threshold")  // the same value again for each element
    return;
  if (warns_when_expanded(name)) {
    const bool put = name == "_index_put_at";
    const char* value = put ? "tensor[indices] = tensor" : "tensor[mask] = scalar";
    std::string text = str("Use of ", put ? "index_put" : name,
        "_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        "This also applies to advanced indexing e.g. ",
        value);
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
    return;
  }
  fail(Kind::Runtime,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please "
      "clone() the tensor before performing the operation.");
}

void check_overlap(const TensorImpl& target, const std::string& name, PyObject* const* args, size_t n) {
  check_own_places(target, name);
  const bool strict = reads_while_writing(name);
  for (size_t i = 0; i < n; ++i) check_argument(target, args[i], strict);
}

void check_first_argument(const std::string& name, PyObject* const* args, size_t n) {
  static constexpr std::array<std::string_view, 9> checked{
      "copy_", "uniform_", "normal_", "random_", "log_normal_", "cauchy_", "exponential_", "geometric_", "bernoulli_"};
  if (name.back() != '_' || !n || !is_tensor(args[0]) || !one_of(name, checked)) return;
  check_overlap(*unwrap(args[0]), name.substr(0, name.size() - 1), args + 1, n - 1);
}

}  // namespace shim
