#include "core/device.h"

#include <array>

#include "core/error.h"

namespace shim {
namespace {
constexpr std::array<const char*, 21> kNames = {"cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga",
    "maia", "xla", "vulkan", "metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"};
// Those that PyTorch lists where a name is none of them, in its order.
constexpr const char* kAccepted =
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone";
}  // namespace

const char* device_type_name(DeviceType t) { return kNames[size_t(t)]; }

std::string to_string(Device d) {
  std::string s = device_type_name(d.type);
  return d.index < 0 ? s : s + ":" + std::to_string(int(d.index));
}

Device parse_device(const std::string& text) {
  CHECK(Kind::Runtime, !text.empty(), "Device string must not be empty");
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name != kNames[i]) continue;
    if (colon == std::string::npos) return {DeviceType(i), -1};
    std::string digits = text.substr(colon + 1);
    bool good = !digits.empty() && digits.size() <= 3 && (digits.size() == 1 || digits[0] != '0');
    for (char c : digits) good = good && c >= '0' && c <= '9';
    int index = good ? std::stoi(digits) : -1;
    CHECK(Kind::Runtime, good && index < 128, "Invalid device string: '", text, "'");
    return {DeviceType(i), int8_t(index)};
  }
  bool plain = !name.empty();
  for (char c : text) plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || c == ':' || c == '_');
  CHECK(Kind::Runtime, plain && text.find(':') == text.rfind(':'), "Invalid device string: '", text, "'");
  fail(Kind::Runtime, "Expected one of ", kAccepted, " device type at start of device string: ", name);
}

}  // namespace shim
