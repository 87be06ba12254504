#!/usr/bin/env bash
# On a machine with a GPU: builds the native part in place, runs tests/gpu and the mirrored tests on CUDA (the fixture
# `device` of tests/conftest.py), compute-sanitizer and the benchmarks, and
# prints a short table last. Pure-Python wheels found in build/wheels (liger-kernel, conch-triton-kernels, ...) are used.
#   benchmarks/gpu_check.sh [LOG FOLDER] [all|tests|bench]
set -uo pipefail
cd "$(dirname "$0")/.."
LOGS="${1:-build/gpu-check}"
WHAT="${2:-all}"
mkdir -p "$LOGS" build/site
LOGS="$(cd "$LOGS" && pwd)"
PYTHON="${PYTHON:-python3}"
export PYTHONUNBUFFERED=1
declare -a SUMMARY
note() { SUMMARY+=("$1"); echo "== $1"; }

begin=$SECONDS
cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DSHIM_IN_TREE=ON -DPython_EXECUTABLE="$(command -v "$PYTHON")" >"$LOGS/build.log" 2>&1 \
  && cmake --build build/gpu >>"$LOGS/build.log" 2>&1
if [ $? -ne 0 ]; then tail -40 "$LOGS/build.log"; echo "the build failed"; exit 1; fi
note "build: $((SECONDS - begin)) s"
if compgen -G "build/wheels/*.whl" >/dev/null; then
  "$PYTHON" -m pip install -q --no-index --no-deps --no-compile --upgrade --target build/site build/wheels/*.whl
fi
export PYTHONPATH="$PWD:$PWD/build/site${PYTHONPATH:+:$PYTHONPATH}"

if [ "$WHAT" != bench ]; then
  begin=$SECONDS
  (cd tests && "$PYTHON" -m pytest gpu -q -p no:cacheprovider -n "${WORKERS:-4}" -rfEs --tb=short >"$LOGS/tests.log" 2>&1)
  note "tests/gpu: $(tail -1 "$LOGS/tests.log") ($((SECONDS - begin)) s)"
  begin=$SECONDS
  (cd tests && "$PYTHON" -m pytest shim_torch autograd -m cuda -q -p no:cacheprovider -n "${WORKERS:-4}" -rfE --tb=short >"$LOGS/mirrored.log" 2>&1)
  note "mirrored tests on cuda: $(tail -1 "$LOGS/mirrored.log") ($((SECONDS - begin)) s)"
  begin=$SECONDS
  "$PYTHON" tests/stress/gpu.py --scale "${STRESS:-0.1}" >"$LOGS/stress.log" 2>&1
  note "stress programs: exit $? ($((SECONDS - begin)) s, scale ${STRESS:-0.1})"
  if command -v compute-sanitizer >/dev/null; then
    # Without the cache of blocks, so that every tensor's bounds are the driver's. Errors of the driver are answers: a module
    # has no record of failed asserts, a kernel no parameter of that number.
    PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 "$PYTHON" benchmarks/gpu_short.py >"$LOGS/sanitizer.log" 2>&1
    note "compute-sanitizer memcheck: exit $?, $(grep -E 'ERROR SUMMARY|not supported' "$LOGS/sanitizer.log" | tail -1)"
    for tool in memcheck racecheck; do
      PYTORCH_NO_CUDA_MEMORY_CACHING=1 timeout 240 compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 "$PYTHON" benchmarks/gpu_linear_short.py >"$LOGS/linear_$tool.log" 2>&1
      note "compute-sanitizer $tool of linear: exit $?, $(grep -E 'SUMMARY|not supported' "$LOGS/linear_$tool.log" | tail -1)"
    done
    timeout 240 compute-sanitizer --tool racecheck --error-exitcode 9 "$PYTHON" benchmarks/gpu_short.py >"$LOGS/racecheck.log" 2>&1
    note "compute-sanitizer racecheck: exit $?, $(grep -E 'SUMMARY|not supported' "$LOGS/racecheck.log" | tail -1)"
  fi
fi
if [ "$WHAT" != tests ]; then
  for benchmark in ${BENCHMARKS:-gpu_eager gpu_seldom}; do
    "$PYTHON" "benchmarks/$benchmark.py" 2>"$LOGS/$benchmark.err" | tee "$LOGS/$benchmark.txt"
  done
fi
echo
echo "---- summary"
printf '%s\n' "${SUMMARY[@]}"
