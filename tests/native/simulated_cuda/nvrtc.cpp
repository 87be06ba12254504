// An NVRTC for machines without a GPU: a program's "machine code" is the name of a library that was compiled for the host.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "kernel_folder.h"

extern "C" {

struct Program {
  std::string source, code;
};
int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
int nvrtcCreateProgram(Program** p, const char* source, const char*, int, const char* const*, const char* const*) {
  *p = new Program{source, {}};
  return 0;
}

// The sources of matrix products were compiled before, a library a dtype; others are compiled here (compile.py).
int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  std::string all;
  for (int i = 0; i < n; ++i) {
    if (std::strncmp(options[i], "-DTYPE=", 7) == 0) p->code = options[i] + 7;
    all += std::string(" '") + options[i] + "'";
  }
  if (!p->code.empty()) return 0;
  if (std::getenv("SIMULATED_NO_CODE")) {  // kernels of any name, which do nothing
    p->code = "none";
    return 0;
  }
  const std::string stem = kernel_folder() + "/source_" + std::to_string(std::hash<std::string>()(p->source + all));
  const std::string file = stem + "." + std::to_string(getpid()) + ".cu";
  FILE* f = std::fopen(file.c_str(), "w");
  if (!f) return 1;
  std::fputs(p->source.c_str(), f);
  std::fclose(f);
  const char* python = std::getenv("SIMULATED_PYTHON");
  const char* script = std::getenv("SIMULATED_COMPILER");
  if (!python || !script ||
      std::system((std::string(python) + " " + script + " " + file + " " + stem + ".so" + all).c_str()) != 0)
    return 6;
  p->code = stem + ".so";
  return 0;
}
int nvrtcGetCUBINSize(Program* p, size_t* n) {
  *n = p->code.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* p, char* to) {
  std::memcpy(to, p->code.c_str(), p->code.size() + 1);
  return 0;
}
int nvrtcGetProgramLogSize(Program*, size_t* n) {
  *n = 0;
  return 0;
}
int nvrtcGetProgramLog(Program*, char*) { return 0; }
int nvrtcDestroyProgram(Program** p) {
  delete *p;
  return 0;
}

}  // extern "C"
