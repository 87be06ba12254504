#pragma once
// torch.utils.deterministic.fill_uninitialized_memory, while deterministic algorithms are on.
namespace shim {

inline bool fill_uninitialized =
    false;  // memory that isn't written gets a fixed value (shim_torch/utils/deterministic.py)

}  // namespace shim
