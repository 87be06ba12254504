#include "cuda/foreach.h"

#include "cuda/foreach_lists.h"

namespace shim::cuda {

using namespace foreach_lists;

namespace {

const Family each_family{"each"};

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
    const std::string type = element_type(t), wide = compute_type(cuda::compute_dtype(t));
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

}  // namespace shim::cuda
