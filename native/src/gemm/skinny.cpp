#include "gemm/skinny.h"

#include <algorithm>
#include <string>

#include "gemm/cuda_kernels.h"
#include "gemm/kernel_table.h"
#include "gemm/plan.h"

namespace shim::gemm {
namespace {

using namespace cuda;

constexpr int kLanes = 32, kGroups = 8;
enum Entry { forward_4, forward_8, forward_16, forward_8_tall, forward_16_tall, backward_4, backward_8, backward_16 };
const char* const entries[] = {"skinny_4", "skinny_8", "skinny_16", "skinny_8_tall", "skinny_16_tall",
    "skinny_backward_4", "skinny_backward_8", "skinny_backward_16"};

CUfunction function(int device, DType dtype, int entry) {
  static KernelTable table("skinny", entries);
  return table.find(device, dtype, entry);
}

struct Rows {  // what the kernels take of a matrix
  const void* data = nullptr;
  int64_t ld = 0;
};

bool aligned(const Rows& r, size_t size) {
  return reinterpret_cast<uintptr_t>(r.data) % 16 == 0 && size_t(r.ld) * size % 16 == 0;
}

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// dx and dw are the results' Rows; those that are not wanted have no data.
struct Gradients {
  DType dtype;
  Rows dy, x, w, dx, dw;
  void* db = nullptr;
  int64_t rows, n, k;
  bool add = false;  // to what dw holds
};

bool fits(const Gradients& g) {
  const size_t size = itemsize(g.dtype);
  if (g.rows < 1 || g.rows > kSkinnyRows || std::max(g.n, g.k) > INT32_MAX / 64 || size_t(g.k) * size % 16)
    return false;
  const bool dy_fits =
      !narrow(g.dtype) || (g.n % 4 == 0 && g.dy.ld % 4 == 0 && reinterpret_cast<uintptr_t>(g.dy.data) % 8 == 0);
  if (g.dx.data && (!dy_fits || !aligned(g.w, size) || !aligned(g.dx, size))) return false;
  return !g.dw.data || (aligned(g.x, size) && aligned(g.dw, size));
}

bool run_backward(int device, const Gradients& g, CUstream stream) {
  const bool small = narrow(g.dtype);
  CUfunction f = function(device, g.dtype, g.rows <= 4 && !small ? backward_4 : g.rows <= 8 ? backward_8 : backward_16);
  if (!f) return false;
  const int64_t tile = small ? 64 : kLanes * 16 / int64_t(itemsize(g.dtype)), tiles = up(g.k, tile);
  int dx_tiles = 0, dx_shares = 0, dw_tiles = 0, dw_shares = 0, dw_per = 1;
  if (g.dx.data) {  // two blocks a multiprocessor
    dx_tiles = int(tiles);
    dx_shares = int(std::clamp<int64_t>(264 / tiles, 1, std::max<int64_t>(1, g.n / 128)));
    if (tiles > int64_t(kCounters)) return false;
    while (size_t(dx_shares) * size_t(tiles) * 2 * kGroups * kLanes * 16 > kWorkspace && dx_shares > 1) dx_shares /= 2;
  }
  if (g.dw.data) {
    const int64_t step = small ? kGroups * 16 : 32, most = small ? 1024 : 128;
    dw_tiles = int(tiles);
    dw_per = int(std::clamp<int64_t>(up(up(g.n * tiles, 528), step) * step, step, most));
    dw_shares = int(up(g.n, dw_per));
  }
  const int64_t db_blocks = g.db ? up(g.n, kLanes * kGroups) : 0;
  const Workspace work = dx_shares > 1 ? workspace(device, stream, true) : Workspace{};
  Gradients a = g;
  void *partial = work.memory, *db = g.db;
  unsigned* count = work.counters;
  int rows = int(g.rows), n = int(g.n), k = int(g.k), add = g.add;
  void* arguments[] = {&a.dy.data, &a.dy.ld, &a.x.data, &a.x.ld, &a.w.data, &a.w.ld, &a.dx.data, &a.dx.ld, &a.dw.data,
      &a.dw.ld, &db, &partial, &count, &rows, &n, &k, &dx_tiles, &dx_shares, &dw_tiles, &dw_shares, &dw_per, &add};
  const int64_t blocks = int64_t(dx_tiles) * dx_shares + int64_t(dw_tiles) * dw_shares + db_blocks;
  return blocks > 0 && blocks < INT32_MAX && launch_own(f, unsigned(blocks), 1, kLanes, kGroups, stream, arguments);
}

bool run_forward(int device, const GemmProblem& p, const GemmBuffers& b, CUstream stream) {
  if (p.n <= 2) return one_or_two_rows(device, p, b, stream);
  const bool small = narrow(p.a_dtype), tall = small && p.m >= 8192;
  const int entry = tall                 ? (p.n <= 8 ? forward_8_tall : forward_16_tall)
                    : p.n <= 4 && !small ? forward_4
                    : p.n <= 8           ? forward_8
                                         : forward_16;
  CUfunction f = function(device, p.a_dtype, entry);
  if (!f) return false;
  const int64_t size = int64_t(itemsize(p.a_dtype)), features = 16 / size;  // of a warp: four, or two of float64
  int splits = 1;
  while (!small && splits < kGroups && up(p.m, features) * splits < 132 * 16 && splits * kLanes * 16 / size < p.k)
    splits *= 2;
  const int64_t per_block = small ? (tall ? 32 : 16) : features * (kGroups / splits);
  const void *x = b.b, *w = b.a, *bias = p.epilogue == Epilogue::bias ? b.bias : nullptr;
  void* y = b.d;
  long long ldx = p.ldb, ldw = p.lda, ldy = p.ldd;
  int rows = int(p.n), n = int(p.m), k = int(p.k);
  void* arguments[] = {&x, &ldx, &w, &ldw, &bias, &y, &ldy, &rows, &n, &k, &splits};
  return launch_own(f, unsigned(up(p.m, per_block)), 1, kLanes, kGroups, stream, arguments);
}

// The problem as dx = dy w (input) or dw = dy^T x (weight).
Gradients gradients_of(Skinny kind, const GemmProblem& p, const GemmBuffers& b) {
  Gradients g{.dtype = p.a_dtype, .dy = {b.b, p.ldb}, .rows = p.n, .n = p.k, .k = p.m};
  if (kind == Skinny::input) {
    g.w = {b.a, p.lda};
    g.dx = {b.d, p.ldd};
    return g;
  }
  g.x = {b.a, p.lda};
  g.dw = {b.d, p.ldd};
  g.rows = p.k;
  g.n = p.n;
  return g;
}

}  // namespace

Skinny skinny_kind(const GemmProblem& p, const GemmBuffers& b) {
  if (p.batch != 1 || p.accumulate || p.a_dtype != p.b_dtype || p.a_dtype != p.d_dtype || type_number(p.a_dtype) < 0)
    return Skinny::none;
  if (p.compute == Compute::f16 || p.scaling != Scaling::none || p.sm_target) return Skinny::none;
  if (std::max({p.m, p.n, p.k}) > INT32_MAX / 64) return Skinny::none;
  if (p.trans_a && !p.trans_b && p.n <= kSkinnyRows && (p.epilogue == Epilogue::none || p.epilogue == Epilogue::bias)) {
    const size_t size = itemsize(p.a_dtype);
    const bool fit = size_t(p.k) * size % 16 == 0 && aligned({b.a, p.lda}, size) && aligned({b.b, p.ldb}, size);
    return fit ? Skinny::forward : Skinny::none;
  }
  if (p.epilogue != Epilogue::none || p.trans_a) return Skinny::none;
  if (!p.trans_b && p.n <= kSkinnyRows && fits(gradients_of(Skinny::input, p, b))) return Skinny::input;
  return p.trans_b && p.k <= kSkinnyRows && fits(gradients_of(Skinny::weight, p, b)) ? Skinny::weight : Skinny::none;
}

bool skinny_run(Skinny kind, int device, const GemmProblem& p, const GemmBuffers& b, CUstream stream) {
  return kind == Skinny::forward ? run_forward(device, p, b, stream)
                                 : run_backward(device, gradients_of(kind, p, b), stream);
}

bool skinny_gradients(int device, const Matrix& dy, const Matrix& x, const Matrix& w, const Matrix& dx,
    const Matrix& dw, void* db, bool add) {
  if (dy.batch != 1 || dy.transposed || x.transposed || w.transposed || type_number(dy.dtype) < 0) return false;
  const auto rows = [](const Matrix& m) { return Rows{m.data, m.ld}; };
  Gradients g{.dtype = dy.dtype,
      .dy = rows(dy),
      .x = rows(x),
      .w = rows(w),
      .dx = rows(dx),
      .dw = rows(dw),
      .db = db,
      .rows = dy.rows,
      .n = dy.cols,
      .k = x.data ? x.cols : w.cols,
      .add = add};
  OnDevice current(device);
  return fits(g) && run_backward(device, g, current_stream(device));
}

}  // namespace shim::gemm
