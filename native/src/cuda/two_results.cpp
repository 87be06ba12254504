#include "cuda/two_results.h"

#include <algorithm>

#include "core/order.h"
#include "cuda/elementwise.h"
#include "cuda/entries/quantile.h"
#include "cuda/entries/two_results.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family two_results_family{"two_results"}, quantile_family{"quantile"};

template <class E> Kernel<E> two_results_kernel(DType t, int vector, int device) {
  return find_kernel<E>(two_results_family, key_of(int(t), vector), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(cuda::compute_dtype(t)), "V=" + std::to_string(vector),
        floating(t) ? "FLOATS=1" : "FLOATS=0"};
  });
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> frexp(const Tensor& self) {
  constexpr int kEach = 4;
  const DType t = self->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(t)) return kOtherDtype;
  if (!self->is_contiguous()) return kStrided;
  const int device = self->device().index;
  const auto f = two_results_kernel<entries::two_results::frexp_of>(t, kEach, device);
  if (!f) return kNotCompiled;
  const Tensor mantissas = empty(self->sizes(), t, self->device()),
               exponents = empty(self->sizes(), DType::i32, self->device());
  const int64_t n = self->numel(), blocks = (n + 256 * kEach - 1) / (256 * kEach);
  if (blocks > kMostBlocks) return kTooMany;
  if (n) launch(f, {blocks}, device, self->data(), mantissas->data(), exponents->data(), n);
  return std::tuple{mantissas, exponents};
}

Outcome<std::tuple<Tensor, Tensor>> aminmax(const Tensor& given, bool all, bool keepdim) {
  const DType t = given->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t) || is_complex(t)) return kOtherDtype;
  if (!given->numel()) return kNoElements;
  const Tensor self = contiguous(given);
  const int64_t n = all || !self->dim() ? self->numel() : self->sizes().back(), rows = self->numel() / n;
  if (rows > kMostBlocks) return kTooMany;
  Dims shape(self->sizes().begin(), self->sizes().end());
  if (all) shape = keepdim ? Dims(size_t(self->dim()), 1) : Dims{};
  if (!all && self->dim()) keepdim ? void(shape.back() = 1) : shape.pop_back();
  const int v = vector_for(n, {&self}), device = self->device().index;
  int64_t parts = std::clamp<int64_t>(std::min(n / 8192, kFullBlocks / rows), 1, kFullBlocks);
  const int64_t per = ((n + parts - 1) / parts + v - 1) / v * v;
  parts = (n + per - 1) / per;
  const auto f = two_results_kernel<entries::two_results::extents>(t, v, device);
  if (!f) return kNotCompiled;
  const Tensor least = empty(shape, t, self->device()), most = empty(shape, t, self->device());
  const int threads = std::min(threads_for(per / v), 512);
  if (parts == 1) {
    launch(f, {rows, 1, threads}, device, self->data(), least->data(), most->data(), n, per);
    return std::tuple{least, most};
  }
  const auto last = two_results_kernel<entries::two_results::extents_of_parts>(t, v, device);
  if (!last) return kNotCompiled;
  const Tensor leasts = empty(Dims{rows, parts}, t, self->device()),
               mosts = empty(Dims{rows, parts}, t, self->device());
  launch(f, {rows, parts, threads}, device, self->data(), leasts->data(), mosts->data(), n, per);
  launch(last, {rows}, device, leasts->data(), mosts->data(), least->data(), most->data(), parts);
  return std::tuple{least, most};
}

Outcome<Tensor> quantiles(
    const Tensor& given, const OptionalTensor& q, double at, bool skips_nan, std::string_view interpolation) {
  static constexpr std::string_view names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  const auto* how = std::ranges::find(names, interpolation);
  const DType t = given->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (t != DType::f32 && t != DType::f64) return kOtherDtype;
  if (how == std::end(names)) return NotMine{"another interpolation"};
  if (!given->dim() || !given->numel()) return kNoElements;
  if (q && ((*q)->dtype() != t || (*q)->device() != given->device())) return kMixedDtypes;
  const int device = given->device().index;
  const auto f = find_kernel<entries::quantile::quantiles>(quantile_family, key_of(int(t)), device,
      [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(t)}; });
  if (!f) return kNotCompiled;
  const Tensor sorted = contiguous(given), places = q ? contiguous(*q) : Tensor{};
  const int64_t n = sorted->sizes().back(), rows = sorted->numel() / n, many = q ? places->numel() : 1;
  Dims shape(sorted->sizes().begin(), sorted->sizes().end());
  shape.back() = many;
  const Tensor out = empty(shape, t, sorted->device());
  const int64_t blocks = (rows * many + 255) / 256;
  if (blocks > kMostBlocks) return kTooMany;
  if (blocks)
    launch(f, {blocks}, device, sorted->data(), data_or_null(places), at, out->data(), rows, n, many, int(skips_nan),
        int(how - names));
  return out;
}

}  // namespace shim::cuda
