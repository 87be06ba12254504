#include "gemm/cuda_kernels.h"

#include <algorithm>
#include <atomic>

#include "cuda/nvrtc.h"
#include "gemm/kernels_source.h"
#include "gemm/plan.h"
#include "gemm/settings.h"

namespace shim::gemm {
namespace {

using namespace cuda;

constexpr int kLanes = 32, kGroups = 8;
constexpr int kMaxDevices = 64, kEntries = 12;
const char* const entries[kEntries] = {"columns_sum",   "columns_relu", "columns_gelu", "columns_gelu_tanh", "activate_relu", "activate_gelu",
                                       "activate_gelu_tanh", "few_rows_1",   "few_rows_2",   "few_rows_4",        "few_rows_8",    "few_rows_16"};

int type_number(DType t) {
  switch (t) {
    case DType::f32: return 0;
    case DType::f16: return 1;
    case DType::bf16: return 2;
    case DType::f64: return 3;
    default: return -1;
  }
}

// Found once a device, dtype and entry; an entry that could not be had is not asked for again.
CUfunction function(int device, DType dtype, int entry) {
  static std::atomic<CUfunction> known[kMaxDevices][4][kEntries];
  static std::atomic<bool> asked[kMaxDevices][4][kEntries];
  const int type = type_number(dtype);
  if (type < 0 || device < 0 || device >= kMaxDevices) return nullptr;
  if (!asked[device][type][entry]) {
    ensure_context();
    CUfunction f = nvrtc::kernel(device, "linear-" + std::to_string(type), kKernelsSource, {"-DTYPE=" + std::to_string(type)}, entries[entry]);
    known[device][type][entry] = f;
    asked[device][type][entry] = true;
    if (!f) ++counters().fallbacks;
  }
  return known[device][type][entry];
}

struct Grid { unsigned x, y = 1; };

bool start(CUfunction f, Grid grid, unsigned bx, unsigned by, CUstream stream, void** arguments) {
  if (driver().launch(f, grid.x, grid.y, 1, bx, by, 1, 0, stream, arguments, nullptr) != 0) return false;
  counters().own.fetch_add(1, std::memory_order_relaxed);
  return true;
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
  // Two blocks a multiprocessor do for few rows; long columns need more loads in flight.
  int64_t shares = std::clamp<int64_t>((dy.rows >= 1024 ? 1056 : 264) / tiles, 1, std::max<int64_t>(1, dy.rows / 32));
  const size_t accumulator = dy.dtype == DType::f64 ? 8 : 4;
  if (!db && dy.rows > 8) shares = std::min<int64_t>((dy.rows + 7) / 8, std::max<int64_t>(1, 2112 / tiles));
  if (db && (tiles > int64_t(kCounters) || size_t(shares) * size_t(dy.cols) * accumulator > kWorkspace)) shares = 1;
  const Workspace work = db && shares > 1 ? workspace(where.index, stream, true) : Workspace{};
  const void *p_dy = dy.data, *p_kept = kept.data;
  void *p_dz = dz.data, *partial = work.memory;
  unsigned* count = work.counters;
  long long ld_dy = dy.ld, ld_kept = kept.ld, ld_dz = dz.ld, rows = dy.rows;
  int cols = int(dy.cols), aligned = wide(dy) && wide(kept) && wide(dz);
  void* arguments[] = {&p_dy, &ld_dy, &p_kept, &ld_kept, &p_dz, &ld_dz, &db, &partial, &count, &rows, &cols, &aligned};
  return start(f, {unsigned(tiles), unsigned(shares)}, kLanes, kGroups, stream, arguments);
}

int few_rows_entry(int64_t rows) { return rows == 1 ? 7 : rows == 2 ? 8 : rows <= 4 ? 9 : rows <= 8 ? 10 : 11; }

}  // namespace

bool column_sums(Device where, const Matrix& dy, void* db) { return columns(where, 0, dy, {}, {}, db); }

bool activation_slope(Device where, Activation activation, const Matrix& dy, const Matrix& kept, const Matrix& dz, void* db) {
  return columns(where, int(activation), dy, kept, dz, db);
}

bool activate(Device where, Activation activation, const Matrix& z, const Matrix& y) {
  if (!plain(z) || !plain(y) || activation == Activation::none || z.cols > INT32_MAX || z.rows < 1 || z.cols < 1) return false;
  OnDevice current(where.index);
  CUfunction f = function(where.index, z.dtype, 3 + int(activation));
  if (!f) return false;
  const int64_t per_pack = 16 / int64_t(itemsize(z.dtype)), packs = z.rows * ((z.cols + per_pack - 1) / per_pack);
  const void* p_z = z.data;
  void* p_y = y.data;
  long long ld_z = z.ld, ld_y = y.ld, rows = z.rows;
  int cols = int(z.cols), aligned = wide(z) && wide(y);
  void* arguments[] = {&p_z, &ld_z, &p_y, &ld_y, &rows, &cols, &aligned};
  return start(f, {unsigned(std::min<int64_t>((packs + 255) / 256, 132 * 16))}, 256, 1, current_stream(where.index), arguments);
}

bool few_rows_fit(const GemmProblem& p, const GemmBuffers& b) {
  const int64_t size = int64_t(itemsize(p.a_dtype));
  const auto aligned = [&](const void* q, int64_t ld) { return reinterpret_cast<uintptr_t>(q) % 16 == 0 && ld * size % 16 == 0; };
  return p.batch == 1 && p.n <= 16 && p.trans_a && !p.trans_b && !p.accumulate && p.a_dtype == p.b_dtype && p.a_dtype == p.d_dtype &&
         type_number(p.a_dtype) >= 0 && (p.compute == Compute::f32 || p.compute == Compute::f64) && p.k * size % 16 == 0 &&
         (p.epilogue == Epilogue::none || p.epilogue == Epilogue::bias) && aligned(b.a, p.lda) && aligned(b.b, p.ldb);
}

bool few_rows(int device, const GemmProblem& p, const GemmBuffers& b, CUstream stream) {
  CUfunction f = function(device, p.a_dtype, few_rows_entry(p.n));
  if (!f) return false;
  const void *x = b.b, *w = b.a, *bias = p.epilogue == Epilogue::bias ? b.bias : nullptr;
  void* y = b.d;
  long long ldx = p.ldb, ldw = p.lda, ldy = p.ldd;
  int rows = int(p.n), n = int(p.m), k = int(p.k);
  void* arguments[] = {&x, &ldx, &w, &ldw, &bias, &y, &ldy, &rows, &n, &k};
  return start(f, {unsigned((p.m + kGroups - 1) / kGroups)}, kLanes, kGroups, stream, arguments);
}

}  // namespace shim::gemm
