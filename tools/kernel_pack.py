"""The table of CUDA kernels that programs ask for, and the pack of them (``make kernels``).

``kernel_pack.py merge RECORDING...`` puts recordings (``SHIM_TORCH_RECORD_KERNELS``, ``benchmarks/record_kernels.py``) into the
table, in the place of what their workloads had there. A recording's file is named after its workload.

``kernel_pack.py pack OUTPUT`` compiles the table for each architecture that NVRTC knows. It needs the installed core and
NVRTC, and no GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "shim_torch" / "_impl" / "data" / "kernels.txt"
ARCHITECTURES = (80, 86, 89, 90, 100, 120)
HOPPER = "HOPPER=1"  # compiled for sm_90 alone
HEAD = """\
# The CUDA kernels that programs ask for: what `make kernels` compiles ahead of time, and what the core compiles ahead of need.
# A line is a file of native/src/cuda/kernels with its macros, a tab, and for each workload of benchmarks/kernel_workloads.py its
# place in the order in which that asks. Written by `tools/kernel_pack.py merge`.
"""
Table = dict[str, dict[str, int]]  # specialisation -> {workload: place}


def read(path: Path) -> Table:
    """The table's lines; none where there is no file."""
    table: Table = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        text, _, places = line.partition("\t")
        if not line.startswith("#"):
            table[text] = {name: int(place) for name, _, place in (p.rpartition(":") for p in places.split())}
    return table


def elsewhere(text: str) -> str | None:
    """What other architectures ask for where sm_90 asks for this kernel of its own; as in cuda/attention_forward.cpp."""
    program, *macros = text.split()
    if HOPPER not in macros:
        return None
    values = dict(m.split("=", 1) for m in macros)
    values["TILES"] = "2" if int(values["D"]) <= 64 else "1"
    names = ("ELEMENT", "D", "TILES", "CAUSAL", "MASK", "DROPS", *(("SPLIT",) if "SPLIT" in values else ()))
    return " ".join([program.replace("_hopper", ""), *(f"{name}={values[name]}" for name in names)])


def merged(table: Table, recordings: list[Path]) -> Table:
    """The table with the recordings' workloads in the place of those of the same names."""
    replaced = {path.stem for path in recordings}
    table = {text: {w: n for w, n in places.items() if w not in replaced} for text, places in table.items()}
    for path in recordings:
        asked = dict.fromkeys(path.read_text(encoding="utf-8").split("\n"))
        for place, text in enumerate(line for line in asked if line):
            for one in filter(None, (text, elsewhere(text))):
                table.setdefault(one, {}).setdefault(path.stem, place)
    return {text: places for text, places in sorted(table.items()) if places}


def write(table: Table, path: Path) -> None:
    """One line a specialisation, sorted."""
    lines = (
        text + "\t" + " ".join(f"{w}:{n}" for w, n in sorted(places.items())) + "\n" for text, places in table.items()
    )
    path.write_text(HEAD + "".join(lines), encoding="utf-8")


def known(architectures: list[int]) -> list[int]:
    """Those that NVRTC compiles for."""
    from shim_torch._impl.native import _core

    found = []
    for architecture in architectures:
        code, log = _core.kernel_compile("triangle OUT=int", architecture)
        if code:
            found.append(architecture)
        elif "gpu-architecture" not in log and "arch" not in log:
            raise SystemExit(f"sm_{architecture}: {log}")
        else:
            print(f"sm_{architecture}: this NVRTC does not know it", file=sys.stderr)
    return found


def pack(output: Path, table: Table, architectures: list[int], jobs: int) -> None:
    """Compiles all of it, in so many threads, and writes the pack; ends with the compiler's log where something fails."""
    from shim_torch._impl.native import _core

    begun = time.monotonic()
    targets = known(architectures)
    wanted = [(text, a) for text in table for a in targets if a == 90 or HOPPER not in text.split()]
    with ThreadPoolExecutor(jobs) as threads:
        codes = list(threads.map(lambda one: _core.kernel_compile(*one), wanted))
    wrong = [f"{text}, sm_{a}:\n{log}" for (text, a), (code, log) in zip(wanted, codes, strict=True) if not code]
    if wrong:
        raise SystemExit("\n".join(wrong))
    output.parent.mkdir(parents=True, exist_ok=True)
    _core.kernel_pack_write(str(output), [(text, a, code) for (text, a), (code, _) in zip(wanted, codes, strict=True)])
    squeezed = sum(len(zlib.compress(code)) for code, _ in codes)
    print(
        f"{output}: {len(wanted)} programs, {output.stat().st_size / 1e6:.1f} MB, about {squeezed / 1e6:.1f} MB in a wheel, "
        f"{time.monotonic() - begun:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    merging = commands.add_parser("merge")
    merging.add_argument("recordings", nargs="+", type=Path)
    packing = commands.add_parser("pack")
    packing.add_argument("output", type=Path)
    packing.add_argument("--architectures", nargs="+", type=int, default=list(ARCHITECTURES))
    packing.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    for one in (merging, packing):
        one.add_argument("--table", type=Path, default=TABLE)
    given = parser.parse_args()
    if given.command == "merge":
        write(merged(read(given.table), given.recordings), given.table)
    else:
        pack(given.output, read(given.table), given.architectures, given.jobs)


if __name__ == "__main__":
    main()
