#include "kernels/cuda_foreach.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "cuda/foreach.h"

namespace shim {
namespace {

using Tensors = std::vector<Tensor>;

bool tensors_of(const Value& v, Tensors* to) {  // a list of CUDA tensors; None for none of them
  if (v.tag == Value::none) return true;
  if (v.tag != Value::list) return false;
  for (const Value& item : std::span(v.items, v.size)) {
    if (item.tag != Value::tensor || !item.t->device().is_cuda() || !has_data(*item.t)) return false;
    to->emplace_back(item.t);
  }
  return true;
}

bool numbers_of(const Value& v, size_t count, std::vector<double>* to) {
  const bool list = v.tag == Value::list;
  if (list && v.size != count) return false;
  for (size_t i = 0; i < count; ++i) {
    const Value& number = list ? v.items[i] : v;
    if (!number.is_number() || number.tag == Value::complex) return false;
    to->push_back(number.number().to_double());
  }
  return true;
}

bool differentiated(const Tensors& l) {
  if (!GradMode::enabled()) return false;
  for (const Tensor& t : l)
    if (t->requires_grad()) return true;
  return false;
}

// What stands beside the list itself: a list, a tensor of one element for all, or None for the numbers' place.
bool operand_of(const Value& v, const Tensors& self, Tensors* list, cuda::Shared* to) {
  if (v.tag == Value::none) return to->kind = cuda::Share::number, true;
  if (v.tag == Value::tensor) {
    if (!v.t->device().is_cuda() || !has_data(*v.t)) return false;
    to->kind = cuda::Share::one;
    list->emplace_back(v.t);
  } else if (!tensors_of(v, list)) {
    return false;
  }
  if (differentiated(*list)) return false;
  to->tensors = *list;
  for (size_t i = 0; to->kind == cuda::Share::own && i < list->size() && i < self.size(); ++i)
    if (!std::ranges::equal((*list)[i]->sizes(), self[i]->sizes())) return false;
  return true;
}

}  // namespace

std::optional<Tensors> cuda_each(
    std::string_view op, bool in_place, const Value& list, const Value& others, const Value& given) {
  CHECK(Kind::Type, others.tag == Value::list && others.size <= 2, "cuda_each(op, in_place, self, others, numbers)");
  Tensors self, lists[2], made;
  cuda::Shared rest[2];
  std::vector<double> numbers;
  if (!tensors_of(list, &self) || self.empty() || differentiated(self)) return {};
  for (uint32_t k = 0; k < others.size; ++k)
    if (!operand_of(others.items[k], self, &lists[k], &rest[k])) return {};
  if (given.tag != Value::none && !numbers_of(given, self.size(), &numbers)) return {};
  for (const Tensor& t : self) {
    if (!in_place && !t->is_contiguous()) return {};
    made.push_back(in_place ? t : empty(t->sizes(), t->dtype(), t->device()));
  }
  if (!cuda::each(std::string(op).c_str(), made, self, {rest, others.size}, numbers)) return {};
  for (const Tensor& t : made)
    if (in_place) t->bump_version();
  return made;
}

Tensor cuda_norms(const Value& list, std::string_view order) {
  Tensors tensors;
  if (!tensors_of(list, &tensors) || tensors.empty() || differentiated(tensors)) return {};
  return cuda::norms(tensors, order == "two"   ? cuda::Order::two
                              : order == "one" ? cuda::Order::one
                                               : cuda::Order::infinity);
}

}  // namespace shim
