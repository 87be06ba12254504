#pragma once

namespace shim {

// The core is built with a sanitizer (`make sanitize`): memory is then not recycled, and no block is larger than what was asked for,
// so that what is read or written past a tensor's end or after its life is seen.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace shim
