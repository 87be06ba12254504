#pragma once
// Frames of Python code (warnings.cpp): null at the outermost.
#include <string>

#include "python/owned_ref.h"

namespace shim {

OwnedRef current_frame();
OwnedRef frame_behind(PyObject* frame);
std::string package_of(
    PyObject* frame);  // __package__ of its code: while a proxy is enabled the modules are named torch, this stays

}  // namespace shim
