#include "cuda/foreach.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cuda/elementwise.h"
#include "cuda/entries/foreach.h"

namespace shim::cuda {
namespace {

constexpr int kMost = 40;  // MOST of foreach.cuh
using Tensors = std::span<const Tensor>;

const Family each_family{"each"}, foreach_family{"foreach"};

template <int pointers, class C> struct Lists {
  void* of[pointers][kMost];
  int64_t size[kMost];
  uint32_t first[kMost + 1];
  C number[kMost];
  int count;
};

// Whether every list has as many tensors as the first, of its dtype, device and sizes.
bool alike(std::initializer_list<Tensors> lists) {
  const Tensors first = *lists.begin();
  if (first.empty() || !kernels_ready() || !floating(first[0]->dtype()) || !first[0]->device().is_cuda()) return false;
  for (Tensors l : lists) {
    if (l.empty()) continue;  // an optional one
    if (l.size() != first.size()) return false;
    for (size_t i = 0; i < l.size(); ++i)
      if (l[i]->dtype() != first[0]->dtype() || l[i]->device() != first[0]->device() || !l[i]->is_contiguous() ||
          l[i]->numel() != first[i]->numel())
        return false;
  }
  return true;
}

int vector_of_all(std::initializer_list<Tensors> lists) {
  int v = 16;
  for (Tensors l : lists)
    for (const Tensor& t : l)
      if (t->numel()) v = std::min(v, vector_of(t->data(), t->itemsize()));
  return v;
}

std::vector<std::string> macros(DType t, int vector, const std::string& own) {
  return {std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(compute_dtype(t)),
      "V=" + std::to_string(vector), own};
}

template <class E> Kernel<E> foreach_kernel(const char* part, int which, DType t, int vector, int device) {
  return find_kernel<E>(foreach_family, key_of(which, int(t), vector), device,
      [&] { return macros(t, vector, std::string(part) + "=" + std::to_string(which)); });
}

// f(lists, first tensor, how many, blocks) for groups of tensors that fit one launch; empty tensors are left out.
template <int pointers, class C, class F>
void groups(const std::array<Tensors, size_t(pointers)>& all, int vector, F f) {
  Lists<pointers, C> l{};
  std::vector<size_t> taken;
  const int64_t chunk = 256 * 4 * int64_t(vector);
  int64_t blocks = 0;
  const auto flush = [&] {
    if (taken.empty()) return;
    l.count = int(taken.size());
    l.first[l.count] = uint32_t(blocks);
    f(l, taken, blocks);
    taken.clear();
    blocks = 0;
  };
  for (size_t i = 0; i < all[0].size(); ++i) {
    const int64_t n = all[0][i]->numel(), more = (n + chunk - 1) / chunk;
    if (!n) continue;
    if (taken.size() == size_t(kMost) || blocks + more > kMostBlocks) flush();
    const size_t at = taken.size();
    for (int p = 0; p < pointers; ++p) l.of[p][at] = all[size_t(p)].empty() ? nullptr : all[size_t(p)][i]->data();
    l.size[at] = n;
    l.first[at] = uint32_t(blocks);
    blocks += more;
    taken.push_back(i);
  }
  flush();
}

// F<C>() with the compute type of these dtypes.
template <class F> auto computed(DType t, F f) { return t == DType::f64 ? f(double()) : f(float()); }

template <int pointers, class C>
void run_each(Kernel<entries::foreach::each> f, std::array<Tensors, size_t(pointers)> all,
    std::span<const double> numbers, int vector, int device) {
  groups<pointers, C>(all, vector, [&](Lists<pointers, C>& l, const std::vector<size_t>& taken, int64_t blocks) {
    for (size_t k = 0; k < taken.size(); ++k) l.number[k] = numbers.empty() ? C(0) : C(numbers[taken[k]]);
    launch(f, {blocks}, device, l);
  });
}

}  // namespace

bool each(const char* op, Tensors outs, Tensors a, std::span<const Shared> rest, std::span<const double> numbers) {
  const Functor* functor = functor_of(op);
  if (!functor || rest.size() > 2 || !alike({outs, a})) return false;
  const DType t = outs[0]->dtype();
  std::vector<Tensor> repeated[2];
  Tensors lists[4] = {outs, a, {}, {}};
  int kinds[3] = {0, 0, 0};
  for (size_t k = 0; k < rest.size(); ++k) {
    const Shared& s = rest[k];
    kinds[k + 1] = int(s.kind);
    if (s.kind == Share::number) continue;
    if (s.kind == Share::own) {
      if (s.tensors.size() != outs.size() || !alike({outs, s.tensors})) return false;
      lists[k + 2] = s.tensors;
    } else {
      if (s.tensors.size() != 1 || s.tensors[0]->numel() != 1 || s.tensors[0]->dtype() != t ||
          s.tensors[0]->device() != outs[0]->device())
        return false;
      repeated[k].assign(outs.size(), s.tensors[0]);
      lists[k + 2] = repeated[k];
    }
  }
  const int inputs = int(rest.size()) + 1, device = outs[0]->device().index;
  int vector = vector_of_all({outs, a});
  for (size_t k = 0; k < rest.size(); ++k)
    if (rest[k].kind == Share::own) vector = std::min(vector, vector_of_all({lists[k + 2]}));
  // Operators are told apart by the addresses of their functors, which the table keeps.
  const uint64_t key =
      (reinterpret_cast<uintptr_t>(functor) << 16) ^ key_of(int(t), kinds[1] * 3 + kinds[2]) << 5 ^ uint64_t(vector);
  const auto f = find_kernel<entries::foreach::each>(each_family, key, device, [&] {
    auto m = macros(t, vector, "EACH=1");
    const std::string type = element_type(t), wide = compute_type(compute_dtype(t));
    for (std::string own : {"OP=" + functor->name, "RESULT=" + wide, std::string("LOGIC=0"), "T0=" + type,
             "N_IN=" + std::to_string(inputs), std::string("EXTRA=") + (functor->extra ? "1" : "0"),
             std::string("K1=0"), "K2=" + std::to_string(kinds[1]), "K3=" + std::to_string(kinds[2])})
      m.push_back(own);
    return m;
  });
  if (!f) return false;
  computed(t, [&](auto zero) {
    using C = decltype(zero);
    if (inputs == 1)
      run_each<2, C>(f, {lists[0], lists[1]}, numbers, vector, device);
    else if (inputs == 2)
      run_each<3, C>(f, {lists[0], lists[1], lists[2]}, numbers, vector, device);
    else
      run_each<4, C>(f, {lists[0], lists[1], lists[2], lists[3]}, numbers, vector, device);
  });
  return true;
}

Tensor norms(Tensors tensors, Order order) {
  if (!alike({tensors})) return {};
  const DType t = tensors[0]->dtype();
  const int vector = vector_of_all({tensors}), device = tensors[0]->device().index;
  const auto parts = foreach_kernel<entries::foreach::parts>("NORM", int(order), t, vector, device);
  const auto whole = foreach_kernel<entries::foreach::whole>("NORM", int(order), t, vector, device);
  if (!parts || !whole) return {};
  const int64_t count = int64_t(tensors.size()), chunk = 256 * 4 * int64_t(vector);
  int64_t each = 1;  // blocks of a tensor
  for (const Tensor& x : tensors) each = std::max(each, (x->numel() + chunk - 1) / chunk);
  each = std::min<int64_t>(each, count < 8 ? 1024 : 128);
  Tensor partial = empty(Dims{count, each}, compute_dtype(t), tensors[0]->device()),
         out = empty(Dims{count}, t, tensors[0]->device());
  void* to = partial->data();
  OnDevice current(device);
  check(
      driver().memset_async(CUdeviceptr(to), 0, size_t(partial->numel()) * partial->itemsize(), current_stream(device)),
      "cuMemsetD8Async");
  computed(t, [&](auto zero) {
    groups<1, decltype(zero)>({tensors}, vector, [&](auto& l, const std::vector<size_t>& taken, int64_t) {
      for (size_t k = 0; k < taken.size(); ++k) l.first[k] = uint32_t(taken[k]);
      launch(parts, {each, l.count}, device, l, to);
    });
  });
  launch(whole, {count}, device, to, each, out->data());
  return out;
}

bool adam(Tensors parameters, Tensors gradients, Tensors means, Tensors squares, Tensors greatest, const Adam& o) {
  if (!alike({parameters, gradients, means, squares, greatest}) || gradients.empty() || means.empty() ||
      squares.empty())
    return false;
  for (const Tensor& t : o.counts)
    if (t->dtype() != DType::f32 || t->numel() != 1 || t->device() != parameters[0]->device()) return false;
  const bool on_device = !o.counts.empty();
  if ((on_device ? o.counts.size() : o.steps.size()) != parameters.size()) return false;
  const DType t = parameters[0]->dtype();
  const int vector = vector_of_all({parameters, gradients, means, squares, greatest}),
            device = parameters[0]->device().index;
  const auto f = foreach_kernel<entries::foreach::adam>("ADAM", 1, t, vector, device);
  if (!f) return false;
  computed(t, [&](auto zero) {
    using C = decltype(zero);
    groups<5, C>({parameters, gradients, means, squares, greatest}, vector,
        [&](auto& l, const std::vector<size_t>& taken, int64_t blocks) {
          struct {
            double beta1, beta2;
            C eps, decay, size[kMost], root[kMost];
            const float* step[kMost];
            int amsgrad, maximize, decoupled, on_device;
          } a{};
          a.beta1 = o.beta1;
          a.beta2 = o.beta2;
          a.eps = C(o.eps);
          a.decay = C(o.decoupled ? 1 - o.rate * o.weight_decay : o.weight_decay);
          for (size_t k = 0; k < taken.size(); ++k) {
            if (on_device) {
              a.size[k] = C(o.rate);
              a.step[k] = static_cast<const float*>(o.counts[taken[k]]->data());
            } else {
              a.size[k] = C(o.rate / (1 - std::pow(o.beta1, o.steps[taken[k]])));
              a.root[k] = C(std::sqrt(1 - std::pow(o.beta2, o.steps[taken[k]])));
            }
          }
          a.amsgrad = !greatest.empty();
          a.maximize = o.maximize;
          a.decoupled = o.decoupled;
          a.on_device = on_device;
          launch(f, {blocks}, device, l, a);
        });
  });
  return true;
}

bool sgd(Tensors parameters, Tensors gradients, Tensors buffers, const Sgd& o) {
  if (!alike({parameters, gradients, buffers}) || gradients.empty()) return false;
  const DType t = parameters[0]->dtype();
  const int vector = vector_of_all({parameters, gradients, buffers}), device = parameters[0]->device().index;
  const auto f = foreach_kernel<entries::foreach::sgd>("SGD", 1, t, vector, device);
  if (!f) return false;
  computed(t, [&](auto zero) {
    using C = decltype(zero);
    groups<3, C>({parameters, gradients, buffers}, vector, [&](auto& l, const std::vector<size_t>&, int64_t blocks) {
      struct {
        C rate, momentum, fresh, decay;
        int nesterov, maximize, has_momentum;
      } a{C(o.rate), C(o.momentum), C(1 - o.dampening), C(o.weight_decay), o.nesterov, o.maximize, !buffers.empty()};
      launch(f, {blocks}, device, l, a);
    });
  });
  return true;
}

}  // namespace shim::cuda
