#include "cuda/decompositions.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/decompositions.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family decompositions{"decompositions"};
constexpr NotMine kLarge{"matrices that a block is slow for"}, kChecked{"errors that are asked for at once"};
constexpr int64_t kMostSolved = 128, kMostColumns = 1024, kMostSingular = 128, kMostLong = 512;
// Cholesky's triangle lies in shared memory.
int64_t most_rows(DType t) { return t == DType::f64 ? 96 : 128; }
// A block has one of many multiprocessors: of larger matrices there must be some, or a library that spreads one over the device is faster.
constexpr int64_t kSolvedRowsOfOne = 16, kCholeskyRowsOfOne = 32;

struct Vectors {
  int left_step, left_next, right_step, right_next;
};

template <class E> Kernel<E> matrix_kernel(DType t, int device) {
  return find_kernel<E>(decompositions, key_of(int(t)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), std::string("C=") + element_type(t),
        "V=1", "ROWS=" + std::to_string(most_rows(t))};
  });
}

int64_t rows_of(const Tensor& a) { return a->sizes()[size_t(a->dim() - 2)]; }
int64_t columns_of(const Tensor& a) { return a->sizes()[size_t(a->dim() - 1)]; }
Dims lead_of(const Tensor& a, int dims = 2) { return Dims(a->sizes().begin(), a->sizes().end() - dims); }

// Why these are no matrices that a block decomposes; null where they are.
const char* no_matrices(const Tensor& a) {
  if (const char* why = not_floats({&a})) return why;
  if (a->dtype() != DType::f32 && a->dtype() != DType::f64) return kOtherDtype.reason;
  if (a->dim() < 2) return kOtherSizes.reason;
  return a->numel() > INT32_MAX ? kTooMany.reason : nullptr;
}

// (..., m, n), by columns or by rows.
Tensor matrices(const Dims& lead, int64_t m, int64_t n, const Tensor& like, bool by_columns = true) {
  Dims sizes = lead;
  sizes.insert(sizes.end(), {m, n});
  Dims strides = contiguous_strides(sizes);
  if (by_columns) {
    strides[sizes.size() - 2] = 1;
    strides.back() = m;
  }
  return empty_strided(sizes, strides, like->dtype(), like->device());
}

int threads_of_elements(int64_t n, int most) { return std::min(threads_for(n / 8), most); }

// `b` null: the inverse.
Outcome<std::tuple<Tensor, Tensor>> solved(const Tensor& a, const Tensor& b, bool left, bool vector) {
  const int64_t n = rows_of(a),
                columns = !b       ? n
                          : vector ? 1
                          : left   ? columns_of(b)
                                   : rows_of(b),
                count = a->numel() / (n * n);
  if (n > kMostSolved || columns > kMostColumns || n > kSolvedRowsOfOne * count) return kLarge;
  const int device = a->device().index;
  const auto f = matrix_kernel<entries::decompositions::solve_systems>(a->dtype(), device);
  if (!f) return kNotCompiled;
  const Dims lead = lead_of(a);
  const Tensor from = contiguous(a), other = contiguous_or_null(b), info = empty(lead, DType::i32, a->device()),
               work = empty(Dims{count, n, n + columns}, a->dtype(), a->device()),
               x = vector  ? empty(b->sizes(), a->dtype(), a->device())
                   : !left ? matrices(lead, columns, n, a, false)
                           : matrices(lead, n, columns, a);
  // X a = b is aᵀ Xᵀ = bᵀ.
  const int a_row = left ? int(n) : 1, a_column = left ? 1 : int(n), b_row = left ? int(columns) : 1,
            b_column = left ? 1 : int(n);
  launch(f, {count, 1, threads_of_elements(n * (n + columns), 1024)}, device, from->data(), data_or_null(other),
      work->data(), x->data(), info->data(), int(n), int(columns), a_row, a_column, b_row, b_column);
  return std::tuple{x, info};
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> cholesky(const Tensor& a, bool upper, bool check_errors) {
  if (const char* why = no_matrices(a)) return NotMine{why};
  if (check_errors) return kChecked;
  const int64_t n = rows_of(a);
  if (columns_of(a) != n) return kOtherSizes;
  const int64_t count = a->numel() / (n * n);
  if (n > most_rows(a->dtype()) || n > kCholeskyRowsOfOne * count) return kLarge;
  const int device = a->device().index;
  const auto f = matrix_kernel<entries::decompositions::cholesky>(a->dtype(), device);
  if (!f) return kNotCompiled;
  const Tensor from = contiguous(a), out = matrices(lead_of(a), n, n, a),
               info = empty(lead_of(a), DType::i32, a->device());
  launch(
      f, {count, 1, threads_of_elements(n * n, 512)}, device, from->data(), out->data(), info->data(), int(n), upper);
  return std::tuple{out, info};
}

Outcome<std::tuple<Tensor, Tensor>> solve(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  if (const char* why = no_matrices(a)) return NotMine{why};
  if (const char* why = not_floats({&b})) return NotMine{why};
  if (check_errors) return kChecked;
  if (a->dtype() != b->dtype()) return kMixedDtypes;
  if (a->device() != b->device()) return kMixedDevices;
  const int64_t n = rows_of(a);
  if (columns_of(a) != n) return kOtherSizes;
  const bool vector = b->dim() == a->dim() - 1 && std::ranges::equal(b->sizes(), lead_of(a, 1));
  if (vector) {
    if (!left) return kOtherSizes;
  } else if (b->dim() != a->dim() || lead_of(a) != lead_of(b) || (left ? rows_of(b) : columns_of(b)) != n) {
    return kOtherSizes;
  }
  return solved(a, b, left, vector);
}

Outcome<std::tuple<Tensor, Tensor>> inverse(const Tensor& a, bool check_errors) {
  if (const char* why = no_matrices(a)) return NotMine{why};
  if (check_errors) return kChecked;
  if (columns_of(a) != rows_of(a)) return kOtherSizes;
  return solved(a, {}, true, false);
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> svd(const Tensor& a, bool full, std::optional<std::string_view> driver) {
  if (const char* why = no_matrices(a)) return NotMine{why};
  if (driver) return NotMine{"a driver that is asked for"};
  const int64_t rows = rows_of(a), columns = columns_of(a), n = std::min(rows, columns), m = std::max(rows, columns);
  if (full && rows != columns) return NotMine{"vectors beyond the singular ones"};
  if (n > kMostSingular || m > kMostLong) return kLarge;
  const int device = a->device().index;
  const auto f = matrix_kernel<entries::decompositions::singular_vectors>(a->dtype(), device);
  if (!f) return kNotCompiled;
  const Dims lead = lead_of(a);
  Dims values = lead;
  values.push_back(n);
  const int64_t count = a->numel() / (rows * columns);
  const Tensor from = contiguous(a), u = matrices(lead, rows, n, a), vh = matrices(lead, n, columns, a),
               s = empty(values, a->dtype(), a->device()), work = empty(Dims{count, n, m}, a->dtype(), a->device()),
               turns = empty(Dims{count, n, n}, a->dtype(), a->device()), failed = empty({}, DType::i32, a->device());
  const int32_t none = 0;
  fill_bytes(failed->data(), &none, 4, 1, device, current_stream(device));
  // Of a wide matrix the transpose is decomposed: its left vectors are the rows of Vᴴ.
  const bool tall = rows >= columns;
  const Vectors to = tall ? Vectors{1, int(m), int(n), 1} : Vectors{int(n), 1, 1, int(n)};
  launch(f, {count, 1, int(std::clamp<int64_t>((n + 1) / 2 * 32, 32, 1024))}, device, from->data(), work->data(),
      turns->data(), (tall ? u : vh)->data(), s->data(), (tall ? vh : u)->data(), failed->data(), int(m), int(n),
      tall ? int(columns) : 1, tall ? 1 : int(columns), to);
  if (item(failed).to_double() != 0) return NotMine{"a matrix without full rank, or with numbers that are none"};
  return std::tuple{u, s, vh};
}

}  // namespace shim::cuda
