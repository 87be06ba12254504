// CUlaunchConfig and CUlaunchAttribute, as the driver takes them.
#pragma once

struct Attribute {
  int id, padding;
  unsigned char value[64];
};
struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
  Attribute* attributes;
  unsigned count;
};
