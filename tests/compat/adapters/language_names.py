"""A library's own names of language functions, without a name of the language."""

import triton
from triton.language import max as reduce_max
from triton.language import sqrt, where

root = sqrt


@triton.jit
def largest(x):
    return where(reduce_max(x, 0) > 2, reduce_max(x, 0), x)
