#pragma once
// The texts of cuda/kernels/*.cuh and of the headers that they include, which tools/embed_kernels.py puts into the core.
#include <cstddef>
#include <string>
#include <string_view>

namespace shim::cuda {

struct KernelFile {
  const char *name, *text;  // "cuda/kernels/sort.cuh"
};
extern const KernelFile kernel_files[];
extern const size_t kernel_file_count;

const char* kernel_file(std::string_view name);  // null: there is none
// The program of cuda/kernels/<name>.cuh: each file that it includes in the place of the first #include, with #line directives, so that
// the compiler's messages name files and lines. Kept for ever; null where there is no such file.
const char* kernel_program(std::string_view name);

}  // namespace shim::cuda
