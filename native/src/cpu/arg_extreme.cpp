// The places of the largest and smallest elements, and how many are not zero.
#include <algorithm>
#include <atomic>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/row_lanes.h"
#include "cpu/statistics.h"
#include "cpu/statistics_rows.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {

namespace {

template <class T, bool Largest> SHIM_MATH_CLONES T extreme_int(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t i = 0; i < n; ++i) best = (Largest ? x[i] > best : x[i] < best) ? x[i] : best;
  return best;
}
template <class T, bool Largest> T extreme(const T* x, int64_t n) {
  if constexpr (std::is_floating_point_v<T>)
    return extreme_value(x, n, Largest);
  else
    return extreme_int<T, Largest>(x, n);
}

template <class T> SHIM_MATH_CLONES int64_t first_equal(const T* x, T value, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    bool hit = false;
    for (int k = 0; k < kLanes; ++k) hit |= x[i + k] == value;
    if (hit) break;
  }
  while (i < n && x[i] != value) ++i;
  return i;
}

template <class T, bool Largest> void extremes(const Rows& r, int64_t* index, T* values) {
  const T* x = r.data->data_as<T>();
  parallel_each(r.rows, r.cols, [&](int64_t row) {
    const T* from = x + row * r.cols;
    const T best = extreme<T, Largest>(from, r.cols);
    int64_t at = 0;
    if (best != best)
      while (from[at] == from[at]) ++at;
    else
      at = first_equal(from, best, r.cols);
    index[row] = at;
    if (values) values[row] = from[at];
  });
}

template <class T> SHIM_CLONES int64_t non_zeros(const T* x, int64_t n) {
  using Part = std::conditional_t<sizeof(T) == 8, uint64_t,
      std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  int64_t count = 0;
  for (int64_t at = 0; at < n; at += 128) {  // few enough for a sum as small as the elements
    const int64_t m = std::min<int64_t>(128, n - at);
    Part part = 0;
    for (int64_t i = 0; i < m; ++i) part = Part(part + (x[at + i] != T(0)));
    count += part;
  }
  return count;
}

// The places, and the values where asked for. No dims: of the flattened tensor.
Outcome<ValuesAndIndices> extremes_of(bool largest, const Tensor& self, IntArrayRef dims, bool keepdim, bool values) {
  const DType own = self->dtype(), compute = own == DType::b8 ? DType::u8 : compute_dtype(own);
  if (self->numel() == 0) return NotMine{"no elements"};
  if (is_complex(own) || (self->itemsize() == 1 && is_floating(own))) return NotMine{"complex numbers or 8-bit floats"};
  const UnlockedWork others_run(self->numel());
  const auto r = rows_of(self, dims, keepdim, compute);
  if (!r) return r.why();
  Tensor index = empty(r->shape, DType::i64, Device{}), picked = values ? empty(r->shape, compute, Device{}) : Tensor{};
  auto run = [&]<class T>(T) {
    T* to = picked ? picked->data_as<T>() : nullptr;
    largest ? extremes<T, true>(*r, index->data_as<int64_t>(), to)
            : extremes<T, false>(*r, index->data_as<int64_t>(), to);
  };
  switch (compute) {
    case DType::u8: run(uint8_t{}); break;
    case DType::i8: run(int8_t{}); break;
    case DType::i16: run(int16_t{}); break;
    case DType::i32: run(int32_t{}); break;
    case DType::i64: run(int64_t{}); break;
    case DType::f32: run(float{}); break;
    case DType::f64: run(double{}); break;
    default: return NotMine{"unsigned integers of more than a byte"};
  }
  return ValuesAndIndices{values ? of_dtype(picked, own) : picked, index};
}

Outcome<Tensor> place_of_extreme(bool largest, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch refuses"};
  const auto found = extremes_of(largest, self, dim ? IntArrayRef(&*dim, 1) : IntArrayRef{}, keepdim, false);
  if (!found) return found.why();
  return std::get<1>(*found);
}

}  // namespace

Outcome<Tensor> argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place_of_extreme(true, self, dim, keepdim);
}
Outcome<Tensor> argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place_of_extreme(false, self, dim, keepdim);
}
Outcome<ValuesAndIndices> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremes_of(true, self, {&dim, 1}, keepdim, true);
}
Outcome<ValuesAndIndices> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremes_of(false, self, {&dim, 1}, keepdim, true);
}

Outcome<Tensor> count_nonzero(const Tensor& self, IntArrayRef dims) {
  const DType own = self->dtype(), seen = own == DType::b8 ? DType::u8 : own;
  if (self->itemsize() == 1 && is_floating(own)) return NotMine{"8-bit floats"};
  const UnlockedWork others_run(self->numel());
  const auto r = rows_of(self, dims, false, own);
  if (!r) return r.why();
  Tensor out = empty(r->shape, DType::i64, Device{});
  auto* to = out->data_as<int64_t>();
  auto run = [&]<class T>(T) {
    const T* x = static_cast<const T*>(r->data->data());
    if (r->rows == 1) {
      std::atomic<int64_t> total{0};
      parallel_for(r->cols, kGrain, [&](int64_t begin, int64_t end) { total += non_zeros(x + begin, end - begin); });
      to[0] = total;
    } else {
      parallel_each(r->rows, r->cols, [&](int64_t row) { to[row] = non_zeros(x + row * r->cols, r->cols); });
    }
    return out;
  };
  switch (seen) {
    case DType::u8:
    case DType::i8: return run(uint8_t{});
    case DType::i16: return run(int16_t{});
    case DType::i32: return run(int32_t{});
    case DType::i64: return run(int64_t{});
    case DType::f32: return run(float{});
    case DType::f64: return run(double{});
    default: return NotMine{"complex numbers or 16-bit floats"};
  }
}

}  // namespace shim
