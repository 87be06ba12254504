#include "cuda/launch_key.h"

namespace shim::cuda {

bool lies_aligned(const TensorImpl& t) {
  if (t.storage()->hidden()) return t.storage_offset() * int64_t(itemsize(t.dtype())) % 16 == 0;
  return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
}

bool LaunchKey::option(std::string_view name, const Value& v) {
  return put('k') && put(name.data(), name.size()) && put('\0') && constant(v);
}

bool LaunchKey::constant(const Value& v) {
  switch (v.tag) {
    case Value::none:
    case Value::boolean: return put('n') && put(v.origin);
    case Value::integer: return v.width == Value::word && put('i') && put(v.i);
    case Value::real: return put('f') && put(v.f);
    case Value::text: return put('s') && put(v.size) && put(v.chars, v.size);
    case Value::tensor:
    case Value::list:
    case Value::dict: return false;
    default: return put('o') && put(v.origin);
  }
}

bool LaunchKey::argument(const Value& v) {
  switch (v.tag) {
    case Value::tensor:
      if (v.width != Value::plain || !v.t->device().is_cuda() || !has_data(*v.t)) return false;
      return put('t') && put(char(v.t->dtype())) && put(char(lies_aligned(*v.t)));
    case Value::integer: {
      if (v.width != Value::word) return false;  // unsigned ones beyond int64 are rare
      const bool narrow = v.i >= INT32_MIN && v.i <= INT32_MAX;
      return put('l') && put(char((v.i == 1) | (v.i % 16 == 0) << 1 | narrow << 2));
    }
    case Value::real: return put('d');
    case Value::none:
    case Value::boolean: return put('n') && put(v.origin);
    default: return false;
  }
}

}  // namespace shim::cuda
