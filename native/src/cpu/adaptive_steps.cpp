// Steps of Adadelta, Adamax, NAdam and RAdam.
#include <algorithm>

#include "cpu/optimizer_rules.h"

namespace shim::optimizers {
Stepped adadelta_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList moves,
    TensorList counts, const AdadeltaSettings& o) {
  return stepped<2>({parameters, gradients, {squares, moves}, counts},
      [&]<class T>(double, size_t) { return Adadelta<T>(o, nullptr); });
}

Stepped adamax_step(TensorList parameters, TensorList gradients, TensorList means, TensorList largest,
    TensorList counts, const AdamaxSettings& o) {
  OfCount rates([&](double count) { return adamax_rates(o, count); });
  return stepped<2>({parameters, gradients, {means, largest}, counts},
      [&]<class T>(double count, size_t) { return Adamax<T>(o, rates(count).data()); });
}

Stepped nadam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList products, TensorList counts, double momentum_decay, const AdamSettings& o) {
  if (products.size() != parameters.size() || !std::ranges::all_of(products, is_count))
    return NotMine{"no products of momentums"};
  const NadamRates rates{o, momentum_decay};
  const auto make = [&]<class T>(double count, size_t i) {
    const double product = rates.next_product(*products[i], count);
    set_number(*products[i], product);
    return Nadam<T>(o, rates(product, count).data());
  };
  return stepped<2>({parameters, gradients, {means, squares}, counts}, make, products);
}

Stepped radam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares, TensorList counts,
    const AdamSettings& o) {
  OfCount rates([&](double count) { return radam_rates(o, count); });
  return stepped<2>({parameters, gradients, {means, squares}, counts},
      [&]<class T>(double count, size_t) { return Radam<T>(o, rates(count).data()); });
}

}  // namespace shim::optimizers
