#include "cpu/scan.h"

#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct Sum {
  template <class A> static A start() { return 0; }
  template <class A> static A f(A a, A b) { return a + b; }
};
struct Product {
  template <class A> static A start() { return 1; }
  template <class A> static A f(A a, A b) { return a * b; }
};

constexpr int64_t kStrip = 128;

// A tensor as `outer` x `length` x `inner`, the dim in the middle; contiguous, of the compute dtype.
struct Along {
  Tensor data;
  int64_t outer = 1, length = 1, inner = 1;
};

Outcome<Along> along(const Tensor& self, int64_t dim, DType compute) {
  const int64_t n = self->dim();
  if (n == 0) return NotMine{"no dims"};
  if (dim < -n || dim >= n) return NotMine{"a dim out of range"};
  if (self->itemsize() == 1 && is_floating(self->dtype())) return NotMine{"8-bit floats"};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  Along a;
  a.outer = product_of(self->sizes(), 0, d);
  a.length = self->sizes()[d];
  a.inner = product_of(self->sizes(), d + 1, size_t(n));
  a.data = self->dtype() == compute ? contiguous(self) : contiguous(to_dtype(self, compute));
  return a;
}

// Runs rows(first, count) over groups of four rows of the last dim, or strip(from, width) over strips of neighbouring columns.
template <class R, class S> void each_part(const Along& a, R&& rows, S&& strip) {
  if (a.inner == 1) {
    parallel_for((a.outer + 3) / 4, std::max<int64_t>(1, kGrain / std::max<int64_t>(4 * a.length, 1)),
        [&](int64_t begin, int64_t end) {
          for (int64_t q = begin; q < end; ++q) rows(4 * q * a.length, std::min<int64_t>(4, a.outer - 4 * q));
        });
    return;
  }
  const int64_t strips = (a.inner + kStrip - 1) / kStrip;
  parallel_for(a.outer * strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(a.length * kStrip, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s) {
          const int64_t at = s % strips * kStrip;
          strip(s / strips * a.length * a.inner + at, std::min(kStrip, a.inner - at));
        }
      });
}

// Floats are accumulated in double, as PyTorch's are.
template <class Op, class T, class A> void running(const Along& all, T* out) {
  const T* in = all.data->data_as<T>();
  const int64_t n = all.length;
  auto rows = [&](int64_t at, int64_t count) {  // four rows at a time: one alone waits for its additions
    const T* from = in + at;
    T* to = out + at;
    A a = Op::template start<A>(), b = a, c = a, d = a;
    if (count == 4) {
      for (int64_t i = 0; i < n; ++i) {
        to[i] = T(a = Op::f(a, A(from[i])));
        to[n + i] = T(b = Op::f(b, A(from[n + i])));
        to[2 * n + i] = T(c = Op::f(c, A(from[2 * n + i])));
        to[3 * n + i] = T(d = Op::f(d, A(from[3 * n + i])));
      }
      return;
    }
    for (int64_t r = 0; r < count; ++r, a = b)
      for (int64_t i = 0; i < n; ++i) to[r * n + i] = T(a = Op::f(a, A(from[r * n + i])));
  };
  each_part(all, rows, [&](int64_t at, int64_t width) {
    A sums[kStrip];
    std::fill_n(sums, kStrip, Op::template start<A>());
    for (int64_t i = 0; i < n; ++i, at += all.inner)
      for (int64_t c = 0; c < width; ++c) out[at + c] = T(sums[c] = Op::f(sums[c], A(in[at + c])));
  });
}

template <class Op> Outcome<Tensor> run(const Tensor& self, int64_t dim, std::optional<DType> given) {
  const DType dtype = given                              ? *given
                      : is_integral(self->dtype(), true) ? DType::i64
                                                         : self->dtype(),
              compute = compute_dtype(dtype);
  if (dtype == DType::b8) return NotMine{"a bool result, which PyTorch refuses"};
  if (compute != DType::f32 && compute != DType::f64 && compute != DType::i64 && compute != DType::i32)
    return NotMine{"a result of complex numbers or small integers"};
  const UnlockedWork others_run(self->numel());
  const auto a = along(self, dim, compute);
  if (!a) return a.why();
  Tensor out = empty(self->sizes(), compute, Device{});
  if (compute == DType::f32)
    running<Op, float, double>(*a, out->data_as<float>());
  else if (compute == DType::f64)
    running<Op, double, double>(*a, out->data_as<double>());
  else if (compute == DType::i64)
    running<Op, int64_t, int64_t>(*a, out->data_as<int64_t>());
  else
    running<Op, int32_t, int32_t>(*a, out->data_as<int32_t>());
  return dtype == compute ? out : to_dtype(out, dtype);
}

template <bool Largest, class T> bool replaces(T x, T best) { return (Largest ? x >= best : x <= best) || x != x; }

template <bool Largest, class T> void extremes(const Along& a, T* values, int64_t* indices) {
  const T* in = a.data->data_as<T>();
  const int64_t n = a.length;
  auto rows = [&](int64_t at, int64_t count) {
    for (const int64_t end = at + count * n; at < end; at += n) {
      T best = in[at];
      int64_t place = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (replaces<Largest>(in[at + i], best)) best = in[at + i], place = i;
        values[at + i] = best;
        indices[at + i] = place;
      }
    }
  };
  each_part(a, rows, [&](int64_t at, int64_t width) {
    T best[kStrip];
    int64_t place[kStrip] = {};
    std::copy_n(in + at, width, best);
    for (int64_t i = 0; i < n; ++i, at += a.inner)
      for (int64_t c = 0; c < width; ++c) {
        const bool now = replaces<Largest>(in[at + c], best[c]);
        values[at + c] = best[c] = now ? in[at + c] : best[c];
        indices[at + c] = place[c] = now ? i : place[c];
      }
  });
}

Outcome<ValuesAndIndices> running_extreme(bool largest, const Tensor& self, int64_t dim) {
  const DType own = self->dtype(), compute = own == DType::b8 ? DType::u8 : compute_dtype(own);
  if (is_complex(own)) return NotMine{"complex numbers"};
  const UnlockedWork others_run(self->numel());
  const auto a = along(self, dim, compute);
  if (!a) return a.why();
  Tensor found = empty(self->sizes(), compute, Device{}), indices = empty(self->sizes(), DType::i64, Device{});
  auto with = [&]<class T>(T) {
    if (!self->numel()) return;
    largest ? extremes<true>(*a, found->data_as<T>(), indices->data_as<int64_t>())
            : extremes<false>(*a, found->data_as<T>(), indices->data_as<int64_t>());
  };
  switch (compute) {
    case DType::u8: with(uint8_t{}); break;
    case DType::i8: with(int8_t{}); break;
    case DType::i16: with(int16_t{}); break;
    case DType::i32: with(int32_t{}); break;
    case DType::i64: with(int64_t{}); break;
    case DType::f32: with(float{}); break;
    case DType::f64: with(double{}); break;
    default: return NotMine{"unsigned integers of more than a byte"};
  }
  return ValuesAndIndices{compute == own ? found : to_dtype(found, own), indices};
}

}  // namespace

Outcome<Tensor> cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return run<Sum>(self, dim, dtype);
}
Outcome<Tensor> cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return run<Product>(self, dim, dtype);
}
Outcome<ValuesAndIndices> cummax(const Tensor& self, int64_t dim) { return running_extreme(true, self, dim); }
Outcome<ValuesAndIndices> cummin(const Tensor& self, int64_t dim) { return running_extreme(false, self, dim); }

}  // namespace shim
