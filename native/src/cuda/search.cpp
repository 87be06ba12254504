#include "cuda/search.h"

#include <algorithm>

#include "cpu/pointwise.h"
#include "cuda/elementwise.h"
#include "cuda/entries/search.h"
#include "cuda/entries/triangle.h"
#include "cuda/reasons.h"
#include "cuda/sort.h"
#include "ops/kernels.h"
#include "cpu/spacing.h"

namespace shim::cuda {
namespace {

const Family searches{"search"}, triangles{"triangle"};
constexpr NotMine kPinned{"pinned memory"};

Device numbered(Device where) {  // "cuda" is the current device
  if (where.index < 0) where.index = int8_t(current_device());
  return where;
}

template <class E> Kernel<E> search_kernel(DType t, DType places, int device) {
  return find_kernel<E>(searches, key_of(int(t), int(places)), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), std::string("OUT=") + element_type(places), "MAKES=0"};
  });
}

}  // namespace

Outcome<Tensor> searchsorted(const Tensor& sequences, const Tensor& values, bool out_int32, bool right,
    std::optional<std::string_view> side, const OptionalTensor& sorter) {
  const DType t = sequences->dtype(), places = out_int32 ? DType::i32 : DType::i64;
  const int dims = sequences->dim();
  if (sorter) return NotMine{"a sorter"};
  if (side && side != "right" && (right || side != "left")) return NotMine{"a side that PyTorch refuses"};
  if (!sequences->is_contiguous() || !values->is_contiguous())
    return NotMine{"strided tensors, of which PyTorch warns"};
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t) || t == DType::b8) return kOtherDtype;
  if (values->dtype() != t) return kMixedDtypes;
  if (values->device() != sequences->device()) return kMixedDevices;
  if (dims == 0 || (dims > 1 && (values->dim() != dims || !std::equal(sequences->sizes().begin(),
                                                              sequences->sizes().end() - 1, values->sizes().begin()))))
    return kOtherSizes;
  const int device = values->device().index;
  const auto f = search_kernel<entries::search::search>(t, places, device);
  if (!f) return kNotCompiled;
  Tensor out = empty(values->sizes(), places, values->device());
  int64_t total = values->numel(), n = sequences->sizes().back(), per_row = dims > 1 ? values->sizes().back() : 0;
  if (!total) return out;
  constexpr std::nullptr_t kNoOrder = nullptr;  // of the sequences
  int after = right || side == "right";
  launch(f, {blocks_for(total)}, device, sequences->data(), values->data(), kNoOrder, out->data(), total, n, per_row,
      after);
  return out;
}

Outcome<Tensor> isin(const Tensor& elements, const TensorOrScalar& tests, Ignored, bool invert) {
  constexpr int64_t kFew = 32;  // compared one by one
  const Device where = elements->device();
  if (!kernels_ready()) return kNoCompiler;
  Promotion promoted;
  promoted.add(*elements);
  tests.tensor ? promoted.add(*tests.tensor) : promoted.add(tests.number);
  const DType t = promoted.result();
  for (DType d : {t, elements->dtype(), tests.tensor ? tests.tensor->dtype() : t})
    if (!has_kernel(d) || d == DType::b8) return kOtherDtype;
  if (!tests.tensor)
    return or_not_mine(run_binary(*binary_op(invert ? "ne" : "eq"), {elements.get(), {}}, tests), kOtherDtype.reason);
  if (tests.tensor->device() != where) return kMixedDevices;
  const auto as_promoted = [&](const Tensor& x) { return contiguous(of_dtype(x, t)); };
  const Tensor values = as_promoted(elements);
  Tensor members = as_promoted(Tensor(const_cast<TensorImpl*>(tests.tensor)));
  int64_t total = values->numel(), n = members->numel();
  const int sorted = n > kFew;
  if (sorted) {
    const auto in_order = sort(view(*members, Dims{n}), 0, false);
    if (!in_order) return in_order.why();
    members = std::get<0>(*in_order);
  }
  const int device = where.index;
  const auto f = search_kernel<entries::search::member>(t, DType::i64, device);
  if (!f) return kNotCompiled;
  const Tensor out = empty(values->sizes(), DType::b8, where);
  if (total)
    launch(f, {blocks_for(total)}, device, members->data(), values->data(), out->data(), total, n, sorted, int(invert));
  return out;
}

Outcome<Tensor> linspace(Scalar start, Scalar end, int64_t steps, std::optional<DType> dtype, Ignored, Device where,
    std::optional<bool> pin_memory) {
  const DType t = dtype.value_or(default_dtype());
  if (pin_memory == true) return kPinned;
  if (!kernels_ready()) return kNoCompiler;
  if (steps < 2) return NotMine{"fewer than two steps"};
  if ((steps + 255) / 256 > kMostBlocks) return kTooMany;
  if (start.type == Scalar::Complex || end.type == Scalar::Complex || start.big || end.big)
    return NotMine{"complex ends, or ends of 2**63 or more"};
  const auto run = [&]<class T>() -> Outcome<Tensor> {
    const Spacing<T> by = spacing_of<T>(start, end, steps, t);
    const Tensor out = empty(Dims{steps}, t, numbered(where));
    const int device = out->device().index;
    const auto f = find_kernel<entries::search::spaced>(searches, key_of(int(t), 63), device,
        [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "OUT=i64", "MAKES=1"}; });
    if (!f) return kNotCompiled;
    launch(f, {(steps + 255) / 256}, device, out->data(), steps, Bytes{&by.first}, Bytes{&by.last}, Bytes{&by.step});
    return out;
  };
  return for_spaced_dtype<Outcome<Tensor>>(t, run, kOtherDtype);
}

namespace {

Outcome<Tensor> triangle_indices(bool upper, int64_t rows, int64_t cols, int64_t diagonal, std::optional<DType> dtype,
    Device where, std::optional<bool> pin_memory) {
  constexpr int64_t kMost = int64_t(1) << 31;
  const DType t = dtype.value_or(DType::i64);
  if (pin_memory == true) return kPinned;
  if (!kernels_ready()) return kNoCompiler;
  if (t != DType::i64 && t != DType::i32) return kOtherDtype;
  if (rows < 1 || cols < 1) return kNoElements;
  if (rows >= kMost || cols >= kMost || std::abs(diagonal) >= kMost) return kTooMany;
  // The columns on and below the diagonal, one less for what is above it, row by row.
  const int64_t d = upper ? diagonal - 1 : diagonal, first = std::clamp<int64_t>(-d, 0, rows),
                full = std::clamp<int64_t>(cols - 1 - d, first, rows);
  const int64_t grown = full - first,
                below = grown * std::min(first + d + 1, cols) + grown * (grown - 1) / 2 + (rows - full) * cols;
  int64_t total = upper ? rows * cols - below : below;
  const Tensor out = empty(Dims{2, total}, t, numbered(where));
  const int device = out->device().index;
  const auto f = find_kernel<entries::triangle::triangle_indices>(triangles, key_of(int(t)), device,
      [&] { return std::vector<std::string>{std::string("OUT=") + element_type(t)}; });
  if (!f) return kNotCompiled;
  if (!total) return out;
  launch(f, {blocks_for(total)}, device, out->data(), total, rows, cols, diagonal, upper);
  return out;
}

}  // namespace

Outcome<Tensor> tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, Ignored,
    Device where, std::optional<bool> pin_memory) {
  return triangle_indices(false, row, col, offset, dtype, where, pin_memory);
}

Outcome<Tensor> triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, Ignored,
    Device where, std::optional<bool> pin_memory) {
  return triangle_indices(true, row, col, offset, dtype, where, pin_memory);
}

Outcome<Tensor> eye_m(int64_t rows, int64_t cols, std::optional<DType> dtype, Ignored, std::optional<Device> where,
    std::optional<bool> pin_memory) {
  if (!where) return kAnothers;  // on the CPU
  const DType t = dtype.value_or(default_dtype());
  if (pin_memory == true) return kPinned;
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t) || t == DType::c128) return kOtherDtype;
  if (rows < 1 || cols < 1) return kNoElements;
  const int64_t per_block = 256 * 16 / int64_t(itemsize(t));
  if (cols > kMostBlocks || rows > kMostBlocks || rows * cols / per_block >= kMostBlocks) return kTooMany;
  const Tensor out = empty(Dims{rows, cols}, t, numbered(*where));
  const int device = out->device().index;
  const auto f = find_kernel<entries::triangle::identity>(triangles, key_of(int(t)), device,
      [&] { return std::vector<std::string>{std::string("OUT=") + element_type(t)}; });
  if (!f) return kNotCompiled;
  launch(f, {(rows * cols + per_block - 1) / per_block}, device, out->data(), rows * cols, cols, std::min(rows, cols));
  return out;
}

Outcome<Tensor> one_hot(const Tensor& given, int64_t count) {
  if (!kernels_ready()) return kNoCompiler;
  if (given->dtype() != DType::i64) return kOtherDtype;
  if (count < 1 || !given->numel()) return kNoElements;
  const Tensor classes = contiguous(given);
  Dims shape(given->sizes().begin(), given->sizes().end());
  shape.push_back(count);
  const Tensor out = empty(shape, DType::i64, given->device());
  const int device = out->device().index;
  const auto f = find_kernel<entries::triangle::one_hot>(
      triangles, key_of(int(DType::i64)), device, [&] { return std::vector<std::string>{"OUT=i64"}; });
  if (!f) return kNotCompiled;
  launch(f, {blocks_for((out->numel() + 1) / 2)}, device, classes->data(), out->data(), out->numel(), count);
  return out;
}

Outcome<Tensor> eye(int64_t n, std::optional<DType> dtype, Ignored layout, std::optional<Device> where,
    std::optional<bool> pin_memory) {
  return eye_m(n, n, dtype, layout, where, pin_memory);
}

}  // namespace shim::cuda
