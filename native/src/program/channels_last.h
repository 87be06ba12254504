#pragma once
// Images between the convolutions of a program lie with channels last, where cuDNN computes faster: else it transposes them each time.
#include "program/step.h"

namespace shim::program {

// What nobody outside sees lies so. What comes from outside is converted where it enters, what leaves where it leaves, and weights have
// copies (Steps::copies). `on_cpu`: convolutions of the CPU, which gain nothing by it.
void put_channels_last(Steps&, bool on_cpu);

}  // namespace shim::program
