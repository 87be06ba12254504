#include "cuda/histogram_unique.h"

#include <algorithm>
#include <cmath>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/reasons.h"
#include "cuda/sort.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int kTallyThreads = 512;
constexpr int64_t kPart = 4096;  // PART of histogram_unique.cuh

const Family histogram_unique_family{"histogram_unique"}, heads{"heads"};

struct Counted {  // what is counted, and how
  Tensor x;
  DType compute;
  int vector, device, kind;  // TALLY
  Counted(const Tensor& self, int tally)
      : x(contiguous(self)),
        compute(floating(self->dtype()) ? compute_dtype(self->dtype()) : DType::i64),
        vector(vector_of(x->data(), self->itemsize())),
        device(self->device().index),
        kind(tally) {}
  CUfunction kernel(const char* entry, const char* count, int slots) const {
    const int counts = count[0] == 'f' ? 1 : count[0] == 'd' ? 2 : 0;
    return find_kernel(histogram_unique_family, entry,
        key_of(int(x->dtype()), vector, kind, counts, slots ? __builtin_ctz(unsigned(slots)) : 0), device, [&] {
          return std::vector<std::string>{std::string("ELEMENT=") + element_type(x->dtype()),
              std::string("C=") + compute_type(compute), "V=" + std::to_string(vector), std::string("COUNT=") + count,
              "TALLY=" + std::to_string(kind), "SLOTS=" + std::to_string(slots)};
        });
  }
  int64_t blocks() const {
    return std::clamp<int64_t>(x->numel() / (int64_t(kTallyThreads) * vector * 4), 1, kFullBlocks);
  }
};

// The least and the greatest, on the host; false where there is no kernel.
bool bounds_of(const Counted& c, Scalar (&found)[2]) {
  const CUfunction each = c.kernel("bounds", "u32", 0), rest = c.kernel("rest", "u32", 0);
  if (!each || !rest) return false;
  int64_t n = c.x->numel(), blocks = c.blocks();
  const Tensor pairs = empty(Dims{blocks, 2}, c.compute, c.x->device()), there = empty(Dims{2}, c.compute, Device{});
  const void* x = c.x->data();
  void* to = pairs->data();
  int count = int(blocks);
  void* first[] = {&x, &n, &to};
  launch(each, blocks, 1, kTallyThreads, 1, first, c.device);
  void* second[] = {&to, &count};
  if (blocks > 1) launch(rest, 1, 1, kTallyThreads, 1, second, c.device);
  copy_(there, select(*pairs, 0, 0));
  for (int k = 0; k < 2; ++k) {
    if (c.compute == DType::i64)
      found[k] = {Scalar::Int, there->data_as<int64_t>()[k]};
    else
      found[k] = {
          Scalar::Float, 0, c.compute == DType::f64 ? there->data_as<double>()[k] : double(there->data_as<float>()[k])};
  }
  return true;
}

// The places' counts, int64 or the weights'.
Tensor tally(const Counted& c, const Tensor& weights, int64_t bins, Scalar low, Scalar high) {
  const char* count = !weights ? "u32" : weights->dtype() == DType::f32 ? "float" : "double";
  const int64_t most = weights && weights->dtype() == DType::f64 ? 4096 : 8192;
  const int slots = bins > most || c.x->numel() < bins * 4 ? 0 : bins <= 128 ? 128 : bins <= 1024 ? 1024 : int(most);
  const CUfunction f = c.kernel("tally", count, slots);
  if (!f) return {};
  Tensor counts = empty(Dims{bins}, weights ? weights->dtype() : DType::i64, c.x->device());
  if (!bins) return counts;
  OnDevice current(c.device);
  check(driver().memset_async(
            CUdeviceptr(counts->data()), 0, size_t(bins) * counts->itemsize(), current_stream(c.device)),
      "cuMemsetD8Async");
  int64_t n = c.x->numel();
  const void *x = c.x->data(), *w = data_or_null(weights);
  void* to = counts->data();
  alignas(16) char least[16] = {}, greatest[16] = {};
  store_number(least, c.compute, low);
  store_number(greatest, c.compute, high);
  void* arguments[] = {&x, &n, &w, &to, &bins, least, greatest};
  launch(f, c.blocks(), 1, kTallyThreads, 1, arguments, c.device);
  return counts;
}

}  // namespace

Outcome<Tensor> bincount(const Tensor& self, const OptionalTensor& own_weights, int64_t least) {
  const DType t = self->dtype();
  const Tensor& weights = or_null(own_weights);
  if (!kernels_ready()) return kNoCompiler;
  if (!is_integral(t, false) || t == DType::u64 || !has_kernel(t)) return kOtherDtype;
  if (self->dim() != 1) return kOtherSizes;
  if (!self->numel()) return kNoElements;
  if (least < 0) return NotMine{"a negative minlength, which PyTorch refuses"};
  if (weights) {
    if (weights->device() != self->device()) return kMixedDevices;
    if (weights->dim() != 1 || weights->numel() != self->numel()) return kOtherSizes;
    if (is_complex(weights->dtype())) return kOtherDtype;
  }
  const Counted c(self, 1);
  Scalar range[2];
  if (!bounds_of(c, range)) return kNotCompiled;
  if (range[0].i < 0) return NotMine{"negative values, which PyTorch refuses"};
  Tensor w;
  if (weights)
    w = contiguous(
        weights->dtype() == DType::f32 || weights->dtype() == DType::f64 ? weights : to_dtype(weights, DType::f64));
  return or_not_mine(tally(c, w, std::max(range[1].i + 1, least), {}, {}), kNotCompiled.reason);
}

Outcome<Tensor> histc(const Tensor& self, int64_t bins, double low, double high) {
  const DType t = self->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t) || t == DType::b8 || t == DType::f16 || t == DType::bf16 || t == DType::u64) return kOtherDtype;
  if (bins <= 0) return NotMine{"no bins, which PyTorch refuses"};
  if (!self->numel()) return kNoElements;
  const Counted c(self, 2);
  Scalar range[2] = {{Scalar::Float, 0, low}, {Scalar::Float, 0, high}};
  if (c.compute == DType::f32) low = float(low), high = float(high);
  if (c.compute == DType::i64)
    range[0] = {Scalar::Int, int64_t(low)}, range[1] = {Scalar::Int, int64_t(high)};
  else
    range[0].f = low, range[1].f = high;
  if (range[0].to_double() == range[1].to_double() && !bounds_of(c, range)) return kNotCompiled;
  if (range[0].to_double() == range[1].to_double()) {
    --range[0].i, ++range[1].i;
    --range[0].f, ++range[1].f;
  }
  if (!std::isfinite(range[0].to_double()) || !std::isfinite(range[1].to_double()) ||
      !(range[0].to_double() < range[1].to_double()))
    return NotMine{"bounds that are no range, which PyTorch refuses"};
  const Tensor counts = tally(c, {}, bins, range[0], range[1]);
  if (!counts) return kNotCompiled;
  return t == DType::i64 ? counts : to_dtype(counts, t);
}

namespace {

// The values of runs of equal neighbours; of all elements in order, with `sorts`.
Outcome<Uniques> runs_of(const Tensor& self, bool sorts, bool inverse, bool counts) {
  const DType t = self->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t)) return kOtherDtype;
  if (!self->numel()) return kNoElements;
  Tensor x = view(*contiguous(self), Dims{self->numel()}), order;
  if (sorts) {
    auto in_order = sort(x, 0, false);
    if (!in_order) return in_order.why();
    std::tie(x, order) = *in_order;
  }
  int64_t n = x->numel(), parts = (n + kPart - 1) / kPart, slots = parts + 1;
  const int device = x->device().index;
  const auto entry = [&](const char* name) {
    return find_kernel(heads, name, key_of(int(t)), device, [&] {
      return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "C=u32", "OUT=i64", "V=1", "HEADS=1"};
    });
  };
  const CUfunction each = entry("count_heads"), scan = entry("starts"), put = entry("place_heads"),
                   measure = entry("lengths");
  if (!each || !scan || !put || !measure) return kNotCompiled;
  if (parts > kMostBlocks) return kTooMany;
  const auto numbers = [&](IntArrayRef sizes) { return empty(sizes, DType::i64, x->device()); };
  const Tensor begins = numbers(Dims{slots}), last = empty({}, DType::i64, Device{});
  const void *from = x->data(), *indices = data_or_null(order);
  void* starts = begins->data();
  void* counted[] = {&from, &n, &starts};
  const int threads = threads_for(std::min(n, kPart));
  launch(each, parts, 1, threads, 1, counted, device);
  void* scanned[] = {&starts, &slots};
  launch(scan, 1, 1, threads_for(slots), 1, scanned, device);
  copy_(last, select(*begins, 0, parts));
  int64_t total = *last->data_as<int64_t>();
  const Tensor values = empty(Dims{total}, t, x->device()), firsts = counts ? numbers(Dims{total}) : Tensor(),
               lengths = numbers(Dims{counts ? total : 0}),
               places = inverse ? numbers(self->sizes()) : numbers(Dims{0});
  void *to = values->data(), *at = data_or_null(firsts), *runs = inverse ? places->data() : nullptr;
  void* placed[] = {&from, &n, &starts, &indices, &to, &at, &runs};
  launch(put, parts, 1, threads, 1, placed, device);
  if (counts) {
    void* widths = lengths->data();
    void* measured[] = {&at, &total, &n, &widths};
    launch(measure, (total + 255) / 256, 1, 256, 1, measured, device);
  }
  return Uniques{values, places, lengths};
}

}  // namespace

Outcome<Uniques> unique(const Tensor& self, Ignored, bool inverse, bool counts) {
  return runs_of(self, true, inverse, counts);
}

Outcome<Uniques> unique_consecutive(const Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim) {
  if (dim) return NotMine{"runs of rows"};
  return runs_of(self, false, inverse, counts);
}

}  // namespace shim::cuda
