"""compile.py SOURCE TO OPTION...: one of our CUDA sources as a library for the host, with its table of kernels."""

import os
import re
import subprocess
import sys
from pathlib import Path

PTX = (
    (r'float r;\s+asm\("cvt\.f32\.f16[^;]*;" :.*?\);\s+return r;', "return half_to_float(x.v);"),
    (r'asm\("cvt\.rn\.f16\.f32[^;]*;" :.*?\);', "r.v = float_to_half(x);"),
)


def main() -> int:
    source, to, *options = sys.argv[1:]
    text = Path(source).read_text()
    for pattern, host in PTX:
        text = re.sub(pattern, host, text)
    text = text.replace('extern "C" __global__', "__global__")
    here = Path(__file__).resolve().parent
    macros = [o for o in options if o.startswith("-D")]
    own = f"{to}.{os.getpid()}"  # renamed when it is whole: other processes compile the same
    unit = Path(own + ".cpp")
    unit.write_text(f'#include "{here}/host.h"\n{text}\n')
    flags = ["g++", "-std=c++17", "-O0", "-w", "-fpermissive", "-ffp-contract=off", *macros]
    seen = subprocess.run([*flags, "-E", "-P", str(unit)], capture_output=True, text=True, check=False)
    names = set(re.findall(r'extern "C" void\s+(\w+)\s*\(', seen.stdout))
    table = "".join(
        f'if (std::strcmp(name, "{n}") == 0) return run(&{n}, gx, gy, bx, by, args);\n' for n in sorted(names)
    )
    copies = "".join(f'if (std::strcmp(name, "{n}") == 0) return keep(&{n}, args);\n' for n in sorted(names))
    launch = 'extern "C" void simulated_launch(const char* name, unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args)'
    with unit.open("a") as f:
        f.write(f"{launch} {{\n{table}}}\n")
        f.write(f'extern "C" void** simulated_keep(const char* name, void** args) {{\n{copies}return nullptr;\n}}\n')
    done = subprocess.run(
        [*flags, "-shared", "-fPIC", str(unit), "-o", own], capture_output=True, text=True, check=False
    )
    sys.stderr.write(seen.stderr[:3000] + done.stderr[:6000])
    if done.returncode == 0:
        os.replace(own, to)
    return seen.returncode or done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
