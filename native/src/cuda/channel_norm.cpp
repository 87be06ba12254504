#include "cuda/channel_norm.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/channels.h"
#include "cuda/planes.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {

namespace {

const Family channels_family{"channels"};

struct Shape {
  int64_t channels, inner, groups, parts;
  int vector, threads;
  bool whole() const { return groups <= 4 * 512; }  // a block keeps a channel in its registers
  int whole_threads() const { return std::min(threads_for(groups), 512); }
};

Shape shape_of(const Tensor& x, std::initializer_list<const Tensor*> all) {
  Shape s{x->sizes()[1], 1, 0, 1, 1, 256};
  for (int d = 2; d < x->dim(); ++d) s.inner *= x->sizes()[size_t(d)];
  s.vector = vector_for(s.inner, all);
  s.groups = x->numel() / s.channels / s.vector;
  s.threads = int(std::clamp<int64_t>(threads_for(s.groups / 4), 32, 256));
  // Parts of a channel, so that there are some blocks for each multiprocessor, none with less than a few loads a thread.
  s.parts = std::clamp<int64_t>(
      132 * 8 / s.channels, 1, std::max<int64_t>(1, std::min<int64_t>(64, s.groups / (4 * s.threads))));
  return s;
}

template <class E> Kernel<E> channel_kernel(DType t, DType parameter, int vector, int device) {
  return find_kernel<E>(channels_family, key_of(int(t), int(parameter), vector), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(compute_dtype(t)), "V=" + std::to_string(vector),
        std::string("P=") + element_type(parameter)};
  });
}

// Mean (or null) and variance of each channel, of one dtype: the compute dtype or x's.
bool measure(const Tensor& x, Shape& s, DType parameter, double correction, bool root, const Tensor& mean,
    const Tensor& variance) {
  const int device = x->device().index;
  const DType compute = compute_dtype(x->dtype());
  const auto moments = channel_kernel<entries::channels::channel_moments>(x->dtype(), parameter, s.vector, device);
  const auto statistics =
      channel_kernel<entries::channels::channel_statistics>(variance->dtype(), parameter, 1, device);
  if (!moments || !statistics) return false;
  const Tensor partial = empty(Dims{s.channels, s.parts, 3}, compute, x->device());
  void* to = partial->data();
  launch(moments, {s.channels, s.parts, s.threads}, device, x->data(), to, s.channels, s.inner, s.groups);
  int parts = int(s.parts);
  launch(statistics, {s.channels, 1, std::min(threads_for(parts), 256)}, device, to, data_or_null(mean),
      variance->data(), parts, correction, root);
  return true;
}

bool usable(const Tensor& x) {
  return kernels_ready() && floating(x->dtype()) && x->numel() < INT32_MAX && x->dim() > 1 && x->numel() &&
         x->sizes()[1] <= kMostBlocks;
}

}  // namespace

bool variance_of_rows(const Tensor& x, double correction, bool root, const Tensor& mean, const Tensor& variance) {
  const int64_t rows = variance->numel(), cols = x->numel() / std::max<int64_t>(rows, 1);
  const Tensor lines = view(*x, Dims{1, rows, cols});
  if (!usable(lines)) return false;
  Shape s = shape_of(lines, {&lines});
  s.parts = std::clamp<int64_t>(132 * 8 / rows, 1, std::max<int64_t>(1, s.groups / (4 * s.threads)));
  return measure(lines, s, compute_dtype(x->dtype()), correction, root, mean, variance);
}

bool track(const Tensor& to_mean, const Tensor& to_variance, const Tensor& mean, const Tensor& variance,
    double momentum, double factor) {
  for (const Tensor* one : {&to_mean, &to_variance, &mean, &variance})
    CHECK(Kind::Type, (*one)->device().is_cuda(), "cuda_track takes CUDA tensors");
  const DType t = to_mean->dtype(), compute = cuda::compute_dtype(t);
  int64_t n = to_mean->numel();
  if (!kernels_ready() || !floating(t) || to_variance->dtype() != t || mean->dtype() != compute ||
      variance->dtype() != compute)
    return false;
  for (const Tensor* one : {&to_mean, &to_variance, &mean, &variance})
    if ((*one)->numel() != n || !(*one)->is_contiguous()) return false;
  const int device = to_mean->device().index;
  const auto f = channel_kernel<entries::channels::track_statistics>(t, t, 1, device);
  if (!f) return false;
  to_mean->bump_version();
  to_variance->bump_version();
  if (!n) return true;
  launch(f, {(n + 255) / 256}, device, to_mean->data(), to_variance->data(), mean->data(), variance->data(), n,
      momentum, factor);
  return true;
}

namespace {

// Why what there is one of a channel does not go with x; null where it does. Null tensors are absent.
const char* no_channels(const Tensor& x, std::initializer_list<const Tensor*> vectors) {
  if (const char* why = not_floats({&x})) return why;
  if (const char* why = not_floats(vectors)) return why;
  if (x->dim() < 2) return kOtherSizes.reason;
  for (const Tensor* v : vectors)
    if (*v && ((*v)->dim() != 1 || (*v)->numel() != x->sizes()[1])) return kOtherSizes.reason;
  return usable(x) ? nullptr : !kernels_ready() ? kNoCompiler.reason : kTooMany.reason;
}

// A statistic in the dtype that sums of `like` are.
Tensor as_computed(const Tensor& t, DType like) {
  const DType compute = cuda::compute_dtype(like);
  return !t ? t : contiguous(of_dtype(t, compute));
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm(const Tensor& input, const OptionalTensor& own_weight,
    const OptionalTensor& own_bias, const OptionalTensor& own_mean, const OptionalTensor& own_variance, bool of_batch,
    double eps) {
  if (const char* why =
          no_channels(input, {&or_null(own_weight), &or_null(own_bias), &or_null(own_mean), &or_null(own_variance)}))
    return NotMine{why};
  if (of_batch == bool(own_mean) || (own_mean && !own_variance)) return NotMine{"statistics beside those of the batch"};
  const Tensor weight = contiguous_or_null(or_null(own_weight)), bias = contiguous_or_null(or_null(own_bias));
  Tensor mean = as_computed(or_null(own_mean), input->dtype()),
         variance = as_computed(or_null(own_variance), input->dtype());
  const DType t = input->dtype(), compute = cuda::compute_dtype(t),
              parameter = weight ? weight->dtype()
                          : bias ? bias->dtype()
                                 : compute;
  if (weight && bias && bias->dtype() != parameter) return kMixedDtypes;
  const int device = input->device().index;
  float narrow = float(eps);
  double wide = eps;
  void* epsilon = compute == DType::f64 ? static_cast<void*>(&wide) : &narrow;
  const MemoryFormat format = suggest_memory_format(*input);
  if (!of_batch && format != MemoryFormat::contiguous && input->is_contiguous(format)) {
    const Tensor out = empty(input->sizes(), t, input->device(), false, format);
    const int64_t channels = input->sizes()[1];
    const int vector = vector_for(channels, {&input, &out});
    const auto apply = channel_kernel<entries::channels::channel_norm_last>(t, parameter, vector, device);
    if (!apply) return kNotCompiled;
    // Each thread has four packs of one place in rows, and there is a thread for each place.
    const int64_t groups = channels / vector, packs = input->numel() / vector,
                  step = std::max((packs / 4 + groups - 1) / groups, int64_t{1}) * groups;
    launch(apply, {(step + 255) / 256, 1, 256}, device, input->data(), out->data(), mean->data(), variance->data(),
        data_or_null(weight), data_or_null(bias), Bytes{epsilon}, uint32_t(groups), step, packs);
    const Tensor none = empty(Dims{0}, compute, input->device());
    return std::tuple{out, none, none};
  }
  const Tensor x = contiguous(input);
  Tensor out = empty(x->sizes(), t, x->device());
  Shape s = shape_of(x, {&x, &out});
  if (of_batch) {
    mean = empty(Dims{s.channels}, compute, x->device());
    variance = empty(Dims{s.channels}, compute, x->device());
    if (s.whole()) {
      const auto all = channel_kernel<entries::channels::channel_norm_whole>(t, parameter, s.vector, device);
      if (!all) return kNotCompiled;
      launch(all, {s.channels, 1, s.whole_threads()}, device, x->data(), out->data(), mean->data(), variance->data(),
          data_or_null(weight), data_or_null(bias), Bytes{epsilon}, s.channels, s.inner, s.groups);
      return std::tuple{in_format_of(out, input), mean, variance};
    }
    if (!measure(x, s, parameter, 0, false, mean, variance)) return kNotCompiled;
  }
  const auto apply = channel_kernel<entries::channels::channel_norm>(t, parameter, s.vector, device);
  if (!apply) return kNotCompiled;
  launch(apply, {s.channels, s.parts, s.threads}, device, x->data(), out->data(), mean->data(), variance->data(),
      data_or_null(weight), data_or_null(bias), Bytes{epsilon}, s.channels, s.inner, s.groups);
  if (!of_batch) mean = variance = empty(Dims{0}, compute, x->device());
  return std::tuple{in_format_of(out, input), mean, variance};
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm_backward(const Tensor& slope, const Tensor& input,
    const OptionalTensor& own_weight, const Tensor& own_mean, const Tensor& own_variance, double eps, bool of_batch) {
  if (const char* why = not_floats({&slope})) return NotMine{why};
  if (const char* why = no_channels(input, {&or_null(own_weight), &own_mean, &own_variance})) return NotMine{why};
  if (!std::ranges::equal(slope->sizes(), input->sizes())) return kOtherSizes;
  if (slope->dtype() != input->dtype()) return kMixedDtypes;
  const Tensor g = contiguous(slope), x = contiguous(input), weight = contiguous_or_null(or_null(own_weight)),
               mean = as_computed(own_mean, x->dtype()), variance = as_computed(own_variance, x->dtype());
  const DType t = x->dtype(), compute = cuda::compute_dtype(t), parameter = weight ? weight->dtype() : compute;
  const int device = x->device().index;
  const Tensor dinput = empty(x->sizes(), t, x->device()), dweight = empty(Dims{x->sizes()[1]}, compute, x->device()),
               dbias = empty(Dims{x->sizes()[1]}, compute, x->device());
  Shape s = shape_of(x, {&x, &g, &dinput});
  float narrow = float(eps);
  double wide = eps;
  void* epsilon = compute == DType::f64 ? static_cast<void*>(&wide) : &narrow;
  if (s.whole()) {
    const auto all = channel_kernel<entries::channels::channel_norm_backward_whole>(t, parameter, s.vector, device);
    if (!all) return kNotCompiled;
    launch(all, {s.channels, 1, s.whole_threads()}, device, g->data(), x->data(), dinput->data(), mean->data(),
        variance->data(), data_or_null(weight), dweight->data(), dbias->data(), Bytes{epsilon}, of_batch, s.channels,
        s.inner, s.groups);
    return std::tuple{in_format_of(dinput, input), dweight, dbias};
  }
  const auto slopes = channel_kernel<entries::channels::channel_slopes>(t, parameter, s.vector, device);
  const auto apply = channel_kernel<entries::channels::channel_norm_backward>(t, parameter, s.vector, device);
  if (!slopes || !apply) return kNotCompiled;
  const Tensor partial = empty(Dims{s.channels, s.parts, 2}, compute, x->device());
  const void *grad = g->data(), *from = x->data(), *m = mean->data();
  void* sums = partial->data();
  launch(slopes, {s.channels, s.parts, s.threads}, device, grad, from, m, sums, s.channels, s.inner, s.groups);
  launch(apply, {s.channels, s.parts, s.threads}, device, grad, from, dinput->data(), m, variance->data(),
      data_or_null(weight), sums, dweight->data(), dbias->data(), Bytes{epsilon}, int(s.parts), of_batch, s.channels,
      s.inner, s.groups);
  return std::tuple{in_format_of(dinput, input), dweight, dbias};
}

}  // namespace shim::cuda
