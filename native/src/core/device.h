#pragma once
#include <cstdint>
#include <string>

namespace shim {

// Numbers are PyTorch's DeviceType numbers. Tensors exist on cpu, cuda and meta only; the other names parse, as PyTorch's do.
enum class DeviceType : int8_t {
  cpu = 0,
  cuda = 1,
  mkldnn = 2,
  opengl = 3,
  opencl = 4,
  ideep = 5,
  hip = 6,
  fpga = 7,
  maia = 8,
  xla = 9,
  vulkan = 10,
  metal = 11,
  xpu = 12,
  mps = 13,
  meta = 14,
  hpu = 15,
  ve = 16,
  lazy = 17,
  ipu = 18,
  mtia = 19,
  privateuse1 = 20
};

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: none given ("cuda", "cpu")
  bool operator==(const Device&) const = default;
  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_cuda() const { return type == DeviceType::cuda; }
  bool is_meta() const { return type == DeviceType::meta; }
};

const char* device_type_name(DeviceType);
std::string to_string(Device);            // "cuda:0", "cpu"
Device parse_device(const std::string&);  // throws PyTorch's RuntimeError text on a bad string

}  // namespace shim
