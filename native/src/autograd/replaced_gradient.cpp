#include "autograd/replaced_gradient.h"

#include <algorithm>

#include "core/sparse.h"

namespace shim {

namespace {

// PyTorch's first name of a kind of tensors: torch.DoubleTensor, torch.cuda.HalfTensor; MetaDoubleType where there is none.
std::string kind_of(const TensorImpl& t) {
  static constexpr DType kNamed[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32,
      DType::i16, DType::i8, DType::u8, DType::b8};
  const Device d = t.device();
  if (d.is_meta() || std::ranges::find(kNamed, t.dtype()) == std::end(kNamed))
    return str(d.is_cpu() ? "CPU" : d.is_cuda() ? "CUDA" : "Meta", scalar_name(t.dtype()), "Type");
  return str("torch.", d.is_cuda() ? "cuda." : "", is_sparse(t) ? "sparse." : "", scalar_name(t.dtype()), "Tensor");
}

}  // namespace

void check_replaced(const Tensor& was, const Tensor& is, const std::function<std::string()>& hook) {
  if (!is) return;
  CHECK(Kind::Runtime, bool(was), "can't replace a None gradient with a non-None value");
  CHECK(Kind::Runtime,
      was->dtype() == is->dtype() && was->device().type == is->device().type && is_sparse(*was) == is_sparse(*is),
      "hook '", hook(), "' has changed the type of value (was ", kind_of(*was), " got ", kind_of(*is), ")");
  CHECK(Kind::Runtime, std::ranges::equal(was->sizes(), is->sizes()), "hook '", hook(),
      "' has changed the size of value");
}

}  // namespace shim
