#pragma once
// Draws of a distribution by its name, which the records' bodies ask for.
#include <optional>
#include <string_view>

#include "core/tensor.h"
#include "cpu/mersenne.h"
#include "ops/draw_bounds.h"

namespace shim::cpu_draws {

inline bool is_whole(std::string_view kind) { return kind == "integer" || kind == "word"; }

using Bounds = DrawBounds;

// Fills a contiguous tensor of float32 or float64 ("integer" and "word": int64; "chance": bool) in place. uniform: from a to b;
// normal, single, log_normal, cauchy: of mean a and deviation b; integer: from low up to high, word: likewise, of 32 bits a
// number; exponential: of rate a; chance: of a. TypeError for other tensors.
void draw(const Tensor& self, std::string_view kind, const Bounds&, Mersenne&);

// Fills out with a number for each element of the parameters: poisson(rate), gamma(shape) or binomial(count, prob), all contiguous, of one
// size, float32 or float64.
void draw_with(
    const Tensor& out, std::string_view kind, Mersenne&, const Tensor& first, const std::optional<Tensor>& second);

}  // namespace shim::cpu_draws
