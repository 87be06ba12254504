#include "core/refcount.h"

namespace shim {

void RefCounted::released(int32_t left) {
  if (left == kKeeps && !left_alone(this)) destroy();
}

}  // namespace shim
