#pragma once
// Compiles what a program is likely to ask for next, on processors that are idle.
#include <string>

namespace shim::cuda {

// Called for each program in the order in which the process asks for them.
void asked_for(const std::string& specialisation, int architecture);
// It has to be compiled: what came after it in former runs is compiled beside it, by threads that are started for that and end when
// nothing is left.
void look_ahead(const std::string& specialisation, int architecture);
// Waits for those threads; compilations under way are ended. Called before the process's exit handlers: they destroy what
// NVRTC's compilations use.
void end_looking_ahead();

}  // namespace shim::cuda
