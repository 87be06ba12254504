#include "cpu/losses.h"

#include <algorithm>
#include <array>

#include "autograd/autograd.h"
#include "cpu/parallel.h"
#include "cpu/row_lanes.h"
#include "ops/kernels.h"

namespace shim {
namespace {

enum class Mean : uint8_t { none, mean, sum };

bool takes(const Tensor& t) { return t->dtype() == DType::f32 || t->dtype() == DType::f64; }
constexpr NotMine kNotOneFloat{"dtypes other than one of float32 and float64"},
    kNoReduction{"a reduction that is none"};
constexpr NotMine kNotPlain{"tensors without values of their own"};
bool is_mean(int64_t reduction) { return reduction >= 0 && reduction <= 2; }

template <class T> SHIM_MATH_CLONES T sum_of_lanes(const T* x, int64_t n) {
  return lane_sum<T>(n, [=](int64_t i) { return x[i]; });
}

template <class T>
Tensor total(const PointwiseFormula& f, const Tensor& x, const Tensor& target, const double* number, Mean mean) {
  constexpr int64_t kPart = 2048;
  const int64_t n = x->numel(), pieces = (n + kGrain - 1) / kGrain;  // pieces do not depend on the number of threads
  std::vector<double> sums(size_t(std::max<int64_t>(pieces, 1)));
  const std::vector<T> numbers(number ? kPart : 0, number ? T(*number) : T(0));
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    T buffer[kPart];
    for (int64_t at = begin * kGrain; at < std::min(n, end * kGrain); at += kPart) {
      const int64_t m = std::min(kPart, n - at);
      const char* in[3] = {reinterpret_cast<const char*>(x->data_as<T>() + at),
          reinterpret_cast<const char*>(target->data_as<T>() + at), reinterpret_cast<const char*>(numbers.data())};
      (sizeof(T) == 4 ? f.f32 : f.f64)(reinterpret_cast<char*>(buffer), in, m);
      sums[size_t(at / kGrain)] += double(sum_of_lanes(buffer, m));
    }
  });
  double sum = 0;
  for (double s : sums) sum += s;
  Tensor out = empty({}, x->dtype(), Device{});
  *out->data_as<T>() = T(mean == Mean::mean ? sum / double(n) : sum);
  return out;
}

template <class T>
Tensor picked(const Tensor& log_p, const Tensor& target, const Tensor& weight, Mean mean, int64_t ignored) {
  const int64_t rows = log_p->sizes()[0], cols = log_p->sizes()[1], step = log_p->strides()[0],
                across = log_p->strides()[1];
  const T *x = log_p->data_as<T>(), *w = weight ? weight->data_as<T>() : nullptr;
  const int64_t* at = target->data_as<int64_t>();
  const Tensor out = empty(mean == Mean::none ? Dims{rows} : Dims{}, log_p->dtype(), Device{});
  double sum = 0, total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t t = at[r];
    CHECK(Kind::Index, t == ignored || (t >= 0 && t < cols), "Target ", t, " is out of bounds.");
    const T factor = t == ignored ? T(0)
                     : w          ? w[t]
                                  : T(1),
            loss = t == ignored ? T(0) : -x[r * step + t * across] * factor;
    if (mean == Mean::none) out->data_as<T>()[r] = loss;
    sum += loss, total += factor;
  }
  if (mean != Mean::none) *out->data_as<T>() = T(mean == Mean::mean ? sum / total : sum);
  return out;
}

// float32 or float64 between 0 and 1, no NaN.
bool chances_only(const Tensor& given) {
  const Tensor t = contiguous(given);
  auto good = [&]<class T>(const T* x) {
    int bad = 0;
    for (int64_t i = 0; i < t->numel(); ++i) bad |= !(x[i] >= T(0) && x[i] <= T(1));
    return !bad;
  };
  return t->dtype() == DType::f32 ? good(t->data_as<float>()) : good(t->data_as<double>());
}

Outcome<Tensor> loss_of(
    const PointwiseFormula& f, const Tensor& x, const Tensor& target, int64_t reduction, const double* number) {
  if (!is_mean(reduction)) return kNoReduction;
  if (!is_plain(x) || !is_plain(target)) return kNotPlain;
  if (x->dtype() != target->dtype()) return kNotOneFloat;
  const UnlockedWork others_run(x->numel());
  const Mean mean = Mean(reduction);
  if (mean == Mean::none) {
    const TensorOrScalar inputs[3] = {
        {x.get(), {}}, {target.get(), {}}, {nullptr, Scalar{Scalar::Float, 0, number ? *number : 0}}};
    return or_not_mine(run_formula(f, {inputs, size_t(number ? 3 : 2)}), "no real floats of two bytes or more");
  }
  if (!takes(x)) return kNotOneFloat;
  if (!std::ranges::equal(x->sizes(), target->sizes()) || !x->is_contiguous() || !target->is_contiguous())
    return NotMine{"tensors of two shapes or not contiguous"};
  return x->dtype() == DType::f32 ? total<float>(f, x, target, number, mean)
                                  : total<double>(f, x, target, number, mean);
}

}  // namespace

Outcome<Tensor> nll_loss(
    const Tensor& log_p, const Tensor& target, const OptionalTensor& weight, int64_t reduction, int64_t ignored) {
  if (!is_mean(reduction)) return kNoReduction;
  if (!is_plain(log_p) || !is_plain(target) || (weight && !is_plain(*weight))) return kNotPlain;
  if (!takes(log_p) || log_p->dim() != 2 || target->dtype() != DType::i64 || target->dim() != 1 ||
      target->sizes()[0] != log_p->sizes()[0])
    return NotMine{"other than rows of float32 or float64 and an int64 place for each"};
  if (weight &&
      ((*weight)->dtype() != log_p->dtype() || (*weight)->dim() != 1 || (*weight)->sizes()[0] != log_p->sizes()[1]))
    return NotMine{"weights of another shape or dtype"};
  const Tensor at = contiguous(target), w = weight ? contiguous(*weight) : Tensor{};
  return log_p->dtype() == DType::f32 ? picked<float>(log_p, at, w, Mean(reduction), ignored)
                                      : picked<double>(log_p, at, w, Mean(reduction), ignored);
}

Outcome<Tensor> formula_loss(
    Registered<PointwiseFormula> f, const Tensor& self, const Tensor& target, int64_t reduction) {
  return loss_of(*f, self, target, reduction, nullptr);
}
Outcome<Tensor> formula_loss_with_number(
    Registered<PointwiseFormula> f, const Tensor& self, const Tensor& target, int64_t reduction, double number) {
  if (!(number > 0)) return NotMine{"a beta or delta that is not above 0"};
  return loss_of(*f, self, target, reduction, &number);
}

Outcome<Tensor> binary_cross_entropy_each(const Tensor& self, const Tensor& target) {
  static const PointwiseFormula& f = *pointwise_formula("binary_cross_entropy");
  if (!takes(self) || self->dtype() != target->dtype()) return kNotOneFloat;
  const UnlockedWork others_run(self->numel());
  if (!chances_only(self) || !chances_only(target))
    return NotMine{"elements that are no chances, which PyTorch refuses"};
  return or_not_mine(
      run_formula(f, std::array<TensorOrScalar, 2>{{{self.get(), {}}, {target.get(), {}}}}), "other floats");
}

}  // namespace shim
