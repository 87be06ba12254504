#!/usr/bin/env bash
# The C interface, and kernels over rows, under AddressSanitizer and UndefinedBehaviorSanitizer: run.sh [SECONDS] [SEED]. Needs a C++20 compiler.
set -euo pipefail
cd "$(dirname "$0")/../../.."
out=${FUZZ_BUILD:-build/fuzz}
mkdir -p "$out"
# What asks for linear layers (convolutions, recurrent layers) is no part of the interface; the table that calls go to is fuzz.cpp's own.
kernels="$out/generated/cuda/embedded_kernels.cpp"
mkdir -p "$out/generated/cuda/entries"
${PYTHON:-python3} tools/embed_kernels.py native/src "$kernels" "$out/generated/cuda/entries"
sources="$kernels $(grep -L -e '"ops/linear.h"' -e '"dispatch/' native/src/{abi,core,cpu,autograd,ops,cuda}/*.cpp tests/abi/fuzz/*.cpp)"
flags="-std=c++20 -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -D_GLIBCXX_ASSERTIONS -fwrapv -Inative/src -Ishim_torch/include -I$out/generated"
objects=()
for source in $sources; do
  object="$out/$(echo "$source" | tr / _).o"
  objects+=("$object")
  if [ ! -e "$object" ] || [ "$source" -nt "$object" ]; then
    echo "${CXX_LAUNCHER:-} ${CXX:-c++} $flags -c $source -o $object"
  fi
done | xargs -r -P "${FUZZ_JOBS:-2}" -I{} sh -c '{}'
objects=()
for source in $sources; do objects+=("$out/$(echo "$source" | tr / _).o"); done
${CXX:-c++} -fsanitize=address,undefined "${objects[@]}" -o "$out/fuzz" -ldl -lpthread
"$out/fuzz" "${1:-30}" "${2:-1}"
