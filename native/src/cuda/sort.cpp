#include "cuda/sort.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/radix.h"
#include "cuda/entries/select.h"
#include "cuda/entries/sort.h"
#include "cuda/reasons.h"

namespace shim::cuda {
namespace {

const Family sort_family{"sort"}, select_family{"select"}, radix_family{"radix"};

constexpr int64_t kMostSelected = 1024, kMostKeys = int64_t(1) << 28, kEnoughBlocks = 264;

int64_t power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

struct Rows {  // what is sorted
  Tensor x;
  int64_t rows, n, dim;
  int descending, device;
  int64_t size() const { return int64_t(x->itemsize()); }
  int pair(bool short_indices) const { return size() == 8 ? 16 : size() == 4 || !short_indices ? 8 : 4; }
  int64_t most() const { return size() == 8 ? 2048 : 4096; }  // keys that a block sorts
};

// Threads that sort `keys` keys: kLanes of sort.cuh.
int lanes_of(int64_t keys, int pair) { return int(keys / (pair == 16 ? 8 : 16)); }

std::vector<std::string> macros(const Rows& r, int64_t keys, int pair) {
  return {std::string("ELEMENT=") + element_type(r.x->dtype()), "KEYS=" + std::to_string(keys),
      "PAIR=" + std::to_string(pair)};
}

template <class E> Kernel<E> select_kernel(const Rows& r, int64_t keys, int vector) {
  const int pair = r.pair(false);
  return find_kernel<E>(
      select_family, key_of(int(r.x->dtype()), __builtin_ctzll(uint64_t(keys)), vector), r.device, [&] {
        auto m = macros(r, keys, pair);
        m.push_back("SELECT=1");
        m.push_back("V=" + std::to_string(vector));
        return m;
      });
}

// The first `keep` of each of the rows, which are at most r.most() long, to values and places.
bool sort_short(const Rows& r, const Tensor& values, const Tensor& indices, int64_t keep) {
  int64_t keys = std::max<int64_t>(power_of_two(r.n), 16), rows = r.rows, n = r.n;
  const int pair = r.pair(true), lanes = lanes_of(keys, pair), threads = std::max(lanes, 128),
            together = threads / lanes;
  const auto f = find_kernel<entries::sort::sort_rows>(sort_family,
      key_of(int(r.x->dtype()), __builtin_ctzll(uint64_t(keys))), r.device, [&] { return macros(r, keys, pair); });
  if (!f) return false;
  int descending = r.descending;
  launch(f, {(rows + together - 1) / together, 1, threads}, r.device, r.x->data(), rows, n, values->data(),
      indices->data(), keep, descending);
  return true;
}

struct Buffers {
  void* keys[2];
  void* at[2];
  void* values;
  void* indices;
};  // of radix.cuh

// Rows first .. first + rows, digit by digit.
bool sort_digits(const Rows& r, int64_t first, int64_t rows, const Tensor& values, const Tensor& indices) {
  const auto entry = [&]<class E>(E) {
    return find_kernel<E>(radix_family, key_of(int(r.x->dtype())), r.device,
        [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(r.x->dtype())}; });
  };
  const auto count = entry(entries::radix::count_digits{});
  const auto plan = entry(entries::radix::plan{});
  const auto move = entry(entries::radix::move_digit{});
  if (!count || !plan || !move) return false;
  const int64_t size = r.size(), passes = size, tile = size == 8 ? 2048 : 4096, tiles = (r.n + tile - 1) / tile,
                cells = rows * r.n;
  // The counts that begin as zero: digits' beginnings, tickets, the tiles' states; then what is written before it is read.
  const int64_t begins = rows * passes * 256, tickets = rows * passes, states = rows * passes * tiles * 256;
  Tensor zeros = empty(Dims{begins + tickets + states + rows}, DType::i32, r.x->device());
  OnDevice current(r.device);
  check(driver().memset_async(
            CUdeviceptr(zeros->data()), 0, size_t(begins + tickets + states) * 4, current_stream(r.device)),
      "cuMemsetD8Async");
  Tensor keys = empty(Dims{2 * cells}, r.x->dtype(), r.x->device()),
         at = empty(Dims{2 * cells}, DType::i32, r.x->device());
  auto offset = [](const Tensor& t, int64_t elements) {
    return static_cast<char*>(t->data()) + elements * int64_t(t->itemsize());
  };
  Buffers to{{offset(keys, 0), offset(keys, cells)}, {offset(at, 0), offset(at, cells)}, offset(values, first * r.n),
      offset(indices, first * r.n)};
  const void* x = offset(r.x, first * r.n);
  int64_t n = r.n;
  int descending = r.descending, pass = 0;
  void *b = offset(zeros, 0), *t = offset(zeros, begins), *s = offset(zeros, begins + tickets),
       *p = offset(zeros, begins + tickets + states);
  launch(count, {std::clamp<int64_t>(r.n / 4096, 1, std::max<int64_t>(4 * kEnoughBlocks / rows, 1)), rows}, r.device, x,
      b, n, descending);
  launch(plan, {rows}, r.device, b, p, n);
  for (; pass < passes; ++pass) launch(move, {tiles, rows}, r.device, x, to, b, p, t, s, n, pass, descending);
  return true;
}

bool sort_long(const Rows& r, const Tensor& values, const Tensor& indices) {
  if (r.n >= int64_t(1) << 30) return false;
  const int64_t together = std::clamp<int64_t>(kMostKeys / r.n, 1, kMostRows);
  for (int64_t first = 0; first < r.rows; first += together)
    if (!sort_digits(r, first, std::min(together, r.rows - first), values, indices)) return false;
  return true;
}

// How many parts each row is searched in: enough blocks to fill the GPU with, their candidates no more than one block sorts.
int64_t parts_of(const Rows& r, int64_t k) {
  if (r.rows >= kEnoughBlocks / 2) return 1;
  const int64_t parts = std::min({(kEnoughBlocks + r.rows - 1) / r.rows, r.n / 2048, r.most() / k, r.n / (4 * k)});
  return std::max<int64_t>(parts, 1);
}

// The first k of each row, without sorting the others.
bool select(const Rows& r, int64_t k, const Tensor& values, const Tensor& indices) {
  const int64_t keys = std::max<int64_t>(power_of_two(k), 64);
  if (r.n >= int64_t(1) << 31) return false;
  int vector = vector_of(r.x->data(), size_t(r.size()));
  while (vector > 1 && r.n % vector) vector /= 2;
  int64_t n = r.n, parts = parts_of(r, k), per = ((n + parts - 1) / parts + vector - 1) / vector * vector, keep = k;
  parts = (n + per - 1) / per;
  const int64_t candidates = parts * k, sorted = std::max<int64_t>(power_of_two(candidates), 64);
  const auto f = select_kernel<entries::select::smallest>(r, keys, vector);
  Kernel<entries::select::finish> last;
  if (parts > 1) last = select_kernel<entries::select::finish>(r, sorted, 1);
  if (!f || (parts > 1 && !last)) return false;
  const void* x = r.x->data();
  void *v = values->data(), *p = indices->data(), *kept = nullptr;
  int descending = r.descending;
  Tensor pairs;
  if (parts > 1) {
    pairs = empty(Dims{r.rows * candidates * r.pair(false) / 8}, DType::i64, r.x->device());
    kept = pairs->data();
  }
  const int threads = std::max({threads_for(per / (2 * vector)), lanes_of(keys, r.pair(false)), 64});
  launch(f, {r.rows, parts, threads}, r.device, x, n, per, kept, v, p, keep, descending);
  if (parts == 1) return true;
  int64_t given = candidates;
  launch(last, {r.rows, 1, std::max(lanes_of(sorted, r.pair(false)), 32)}, r.device, x, kept, n, given, v, p, keep);
  return true;
}

// The rows along `dim`, which becomes the last dimension.
Outcome<Rows> rows_of(const Tensor& given, int64_t dim, bool descending) {
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(given->dtype())) return kOtherDtype;
  if (given->dim() == 0) return NotMine{"no dims"};
  if (dim < -given->dim() || dim >= given->dim()) return NotMine{"a dim out of range"};
  Rows r;
  r.dim = dim < 0 ? dim + given->dim() : dim;
  r.x = contiguous(r.dim == given->dim() - 1 ? given : transpose(*given, r.dim, -1));
  r.n = given->sizes()[size_t(r.dim)];
  r.rows = r.n ? given->numel() / r.n : 0;
  r.descending = descending;
  r.device = given->device().index;
  if (!r.n || !r.rows) return kNoElements;
  if (r.rows >= int64_t(1) << 31) return NotMine{"2**31 rows"};
  return r;
}

Tensor back(const Tensor& t, int64_t dim) { return dim == t->dim() - 1 ? t : contiguous(transpose(*t, dim, -1)); }

}  // namespace

Outcome<ValuesAndIndices> sort(const Tensor& self, int64_t dim, bool descending) {
  if (!self->numel())
    return ValuesAndIndices{
        empty(self->sizes(), self->dtype(), self->device()), empty(self->sizes(), DType::i64, self->device())};
  Outcome<Rows> r = rows_of(self, dim, descending);
  if (!r) return r.why();
  Tensor values = empty(r->x->sizes(), self->dtype(), self->device()),
         indices = empty(r->x->sizes(), DType::i64, self->device());
  if (!(r->n <= r->most() ? sort_short(*r, values, indices, r->n) : sort_long(*r, values, indices)))
    return kNotCompiled;
  return ValuesAndIndices{laid_out_as(back(values, r->dim), *self), laid_out_as(back(indices, r->dim), *self)};
}

Outcome<ValuesAndIndices> top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, Ignored) {
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch does not rank"};
  if (self->dim() && (k == 0 || !self->numel()) && dim >= -self->dim() && dim < self->dim()) {
    Dims shape(self->sizes().begin(), self->sizes().end());
    int64_t& size = shape[size_t(dim < 0 ? dim + self->dim() : dim)];
    if (k < 0 || k > size) return NotMine{"k out of range"};
    size = k;
    return ValuesAndIndices{empty(shape, self->dtype(), self->device()), empty(shape, DType::i64, self->device())};
  }
  Outcome<Rows> r = rows_of(self, dim, largest);
  if (!r) return r.why();
  if (k < 1 || k > r->n) return NotMine{"k out of range"};
  Dims shape(r->x->sizes().begin(), r->x->sizes().end());
  shape.back() = k;
  Tensor best = empty(shape, self->dtype(), self->device()), indices = empty(shape, DType::i64, self->device());
  if (k <= kMostSelected && r->n > 256) {
    if (!select(*r, k, best, indices)) return kNotCompiled;
  } else if (r->n <= r->most()) {
    if (!sort_short(*r, best, indices, k)) return kNotCompiled;
  } else {
    Tensor all = empty(r->x->sizes(), self->dtype(), self->device()),
           spots = empty(r->x->sizes(), DType::i64, self->device());
    if (!sort_long(*r, all, spots)) return kNotCompiled;
    best = contiguous(slice(*all, -1, 0, k, 1));
    indices = contiguous(slice(*spots, -1, 0, k, 1));
  }
  return ValuesAndIndices{back(best, r->dim), back(indices, r->dim)};
}

}  // namespace shim::cuda
