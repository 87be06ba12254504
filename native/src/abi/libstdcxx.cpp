// A piece of the C++ runtime that wheels find in PyTorch's libraries: the part of std::string::replace that GCC 13 calls
// out of line, for text that lies inside the string itself. Older systems' libstdc++ does not have it.
#include <cstddef>
#include <cstring>
#include <string>

// std::string::_M_replace_cold(char* at, size_t replaced, const char* text, size_t length, size_t tail)
extern "C" __attribute__((visibility("default"), weak)) void
_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm(
    void*, char* at, size_t replaced, const char* text, size_t length, size_t tail) {
  const std::string copy(text, length);
  std::memmove(at + length, at + replaced, tail);
  std::memcpy(at, copy.data(), length);
}
