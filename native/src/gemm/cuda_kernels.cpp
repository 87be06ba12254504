#include "gemm/cuda_kernels.h"

#include <algorithm>
#include <string>

#include "gemm/kernel_table.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {
namespace {

using namespace cuda;

constexpr int kLanes = 32, kGroups = 8;
const char* const column_entries[] = {"columns_sum", "columns_relu", "columns_gelu", "columns_gelu_tanh",
    "activate_relu", "activate_gelu", "activate_gelu_tanh", "few_rows_1", "few_rows_2", "outer_product"};

CUfunction function(int device, DType dtype, int entry) {
  static KernelTable table("gemm_columns", column_entries);
  return table.find(device, dtype, entry);
}

bool wide(const Matrix& m) {
  return !m.data || (reinterpret_cast<uintptr_t>(m.data) % 16 == 0 && (size_t(m.ld) * itemsize(m.dtype)) % 16 == 0);
}

bool plain(const Matrix& m) { return m.batch == 1 && !m.transposed; }

bool columns(Device where, int entry, const Matrix& dy, const Matrix& kept, const Matrix& dz, void* db) {
  if (!plain(dy) || !plain(kept) || !plain(dz) || dy.rows < 1 || dy.cols < 1 || dy.cols > INT32_MAX) return false;
  OnDevice current(where.index);
  CUfunction f = function(where.index, dy.dtype, entry);
  if (!f) return false;
  const CUstream stream = current_stream(where.index);
  const int64_t per_block = int64_t(kLanes) * 16 / int64_t(itemsize(dy.dtype));
  const int64_t tiles = (dy.cols + per_block - 1) / per_block;
  // Four blocks a multiprocessor, each with enough rows that adding the shares is little beside reading them.
  int64_t shares = std::clamp<int64_t>(528 / tiles, 1, std::max<int64_t>(1, dy.rows / 32));
  if (db && shares > 1) {  // whole batches of loads for each
    const int64_t batch = kGroups * 4, share = ((dy.rows + shares - 1) / shares + batch - 1) / batch * batch;
    shares = (dy.rows + share - 1) / share;
  }
  const size_t accumulator = dy.dtype == DType::f64 ? 8 : 4;
  if (!db && dy.rows > 8) shares = std::min<int64_t>((dy.rows + 7) / 8, std::max<int64_t>(1, 2112 / tiles));
  if (db &&
      (tiles > int64_t(kCounters) || size_t(shares) * size_t(tiles) * size_t(per_block) * accumulator > kWorkspace))
    shares = 1;
  const Workspace work = db && shares > 1 ? workspace(where.index, stream, true) : Workspace{};
  const void *p_dy = dy.data, *p_kept = kept.data;
  void *p_dz = dz.data, *partial = work.memory;
  unsigned* count = work.counters;
  long long ld_dy = dy.ld, ld_kept = kept.ld, ld_dz = dz.ld, rows = dy.rows;
  int cols = int(dy.cols), aligned = wide(dy) && wide(kept) && wide(dz);
  void* arguments[] = {&p_dy, &ld_dy, &p_kept, &ld_kept, &p_dz, &ld_dz, &db, &partial, &count, &rows, &cols, &aligned};
  return launch_own(f, unsigned(tiles), unsigned(shares), kLanes, kGroups, stream, arguments, where.index);
}

}  // namespace

bool column_sums(Device where, const Matrix& dy, void* db) { return columns(where, 0, dy, {}, {}, db); }

bool activation_slope(
    Device where, Activation activation, const Matrix& dy, const Matrix& kept, const Matrix& dz, void* db) {
  return columns(where, int(activation), dy, kept, dz, db);
}

bool activate(Device where, Activation activation, const Matrix& z, const Matrix& y) {
  if (!plain(z) || !plain(y) || activation == Activation::none || z.cols > INT32_MAX || z.rows < 1 || z.cols < 1)
    return false;
  OnDevice current(where.index);
  CUfunction f = function(where.index, z.dtype, 3 + int(activation));
  if (!f) return false;
  const int64_t per_pack = 16 / int64_t(itemsize(z.dtype)), packs = z.rows * ((z.cols + per_pack - 1) / per_pack);
  const void* p_z = z.data;
  void* p_y = y.data;
  long long ld_z = z.ld, ld_y = y.ld, rows = z.rows;
  int cols = int(z.cols), aligned = wide(z) && wide(y);
  void* arguments[] = {&p_z, &ld_z, &p_y, &ld_y, &rows, &cols, &aligned};
  // Four packs a thread, which it loads together, where that leaves enough threads.
  const int64_t blocks =
      std::min<int64_t>({(packs + 255) / 256, std::max<int64_t>((packs + 1023) / 1024, 132 * 4), 132 * 16});
  return launch_own(f, unsigned(blocks), 1, 256, 1, current_stream(where.index), arguments, where.index);
}

bool outer_product(Device where, const Vector& a, const Vector& b, const Matrix& y) {
  if (!plain(y) || y.cols > INT32_MAX || y.rows < 1 || y.cols < 1) return false;
  OnDevice current(where.index);
  CUfunction f = function(where.index, y.dtype, 9);
  if (!f) return false;
  const int64_t per_pack = 16 / int64_t(itemsize(y.dtype)), packs = (y.cols + per_pack - 1) / per_pack;
  const int64_t threads = std::min<int64_t>(256, (packs + 31) / 32 * 32), tiles = (packs + threads - 1) / threads;
  const int64_t blocks = std::clamp<int64_t>(132 * 16 * 256 / threads / tiles, 1, std::min<int64_t>(y.rows, 65535));
  const void *p_a = a.data, *p_b = b.data;
  void* p_y = y.data;
  long long step_a = a.step, step_b = b.step, ld = y.ld, rows = y.rows;
  int cols = int(y.cols), aligned = wide(y);
  void* arguments[] = {&p_a, &step_a, &p_b, &step_b, &p_y, &ld, &rows, &cols, &aligned};
  return launch_own(
      f, unsigned(tiles), unsigned(blocks), unsigned(threads), 1, current_stream(where.index), arguments, where.index);
}

bool one_or_two_rows(int device, const GemmProblem& p, const GemmBuffers& b, CUstream stream) {
  CUfunction f = function(device, p.a_dtype, p.n == 1 ? 7 : 8);
  if (!f) return false;
  const void *x = b.b, *w = b.a, *bias = p.epilogue == Epilogue::bias ? b.bias : nullptr;
  void* y = b.d;
  long long ldx = p.ldb, ldw = p.lda, ldy = p.ldd;
  int rows = int(p.n), n = int(p.m), k = int(p.k);
  void* arguments[] = {&x, &ldx, &w, &ldw, &bias, &y, &ldy, &rows, &n, &k};
  return launch_own(f, unsigned((p.m + kGroups - 1) / kGroups), 1, kLanes, kGroups, stream, arguments);
}

}  // namespace shim::gemm
