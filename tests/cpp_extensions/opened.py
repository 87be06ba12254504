"""Builds opened.cpp as libraries do that call the compiler themselves, and opens it with ctypes. Arguments: folder."""

import ctypes
import os
import subprocess
import sys
import sysconfig

import torch
from torch.utils import cpp_extension

DLPACK = """#pragma once
#include <cstdint>
enum DLDataTypeCode { kDLInt, kDLUInt, kDLFloat, kDLOpaqueHandle, kDLBfloat, kDLComplex, kDLBool };
struct DLDataType { uint8_t code, bits; uint16_t lanes; };
"""

folder = sys.argv[1]
os.makedirs(os.path.join(folder, "dlpack"))
with open(os.path.join(folder, "dlpack", "dlpack.h"), "w") as file:
    file.write(DLPACK)
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opened.cpp")
path = os.path.join(folder, "libopened.so")
includes = [f"-I{p}" for p in (*cpp_extension.include_paths(), folder, sysconfig.get_paths()["include"])]
links = [*(f"-L{p}" for p in cpp_extension.library_paths()), "-Wl,--as-needed", "-lc10", "-ltorch", "-ltorch_python"]
options = ["-std=c++20", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
subprocess.run([os.environ.get("CXX", "c++"), *options, *includes, source, *links, "-o", path], check=True)

library = ctypes.PyDLL(path)
library.over_the_memory_of.restype = ctypes.py_object
library.over_the_memory_of.argtypes = [ctypes.py_object]
x = torch.arange(6.0).reshape(2, 3).t()
y = library.over_the_memory_of(x)
print(type(y) is torch.Tensor, y.stride(), y.dtype, y.data_ptr() == x.data_ptr())
del x
print(y.tolist())
print([library.type_of(code, bits) for code, bits in ((2, 64), (4, 16), (6, 8), (5, 64), (2, 24))])
