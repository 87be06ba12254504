"""``python -m compat doctor | run | scan | coverage | provide``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from shim_torch_proxy.cli import program


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="the version of shim-torch")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"shim-torch {version('shim-torch')}")
        except PackageNotFoundError:
            print("shim-torch (a source tree that is not installed)")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """The command line."""
    name = program()
    top = argparse.ArgumentParser(prog=name, description="torch for kernel libraries, without PyTorch")
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(dest="command", required=True)

    def command(which: str, summary: str, usage: str | None = None) -> argparse.ArgumentParser:
        made = commands.add_parser(which, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", usage=usage)
        made.set_defaults(refuse=made.error)
        return made

    doctor = command("doctor", "what to do so that everything works here, then versions, devices and wheels")
    doctor.add_argument("--json", action="store_true", help="the report as JSON")
    doctor.add_argument("--mends", action="store_true", help="list what is mended in Triton's interpreter, too")
    _add_run(command, name)
    scan = command(
        "scan", "which torch names and C functions a package, folder, file or wheel uses, and which are missing"
    )
    scan.add_argument(
        "target", help="the name of an installed package or distribution, or the path of a folder, file or wheel"
    )
    scan.add_argument("--json", action="store_true", help="the table as JSON")
    coverage = command("coverage", "how much of PyTorch's public surface is here, part by part")
    coverage.add_argument(
        "--missing", metavar="PART", help="the names of one part, nn or torch.nn say, that are not here"
    )
    provide = command("provide", "tell pip that torch is installed (metadata only)")
    provide.add_argument("--remove", action="store_true", help="take it back")
    provide.add_argument("--version", default=None, help="the version to claim (default 2.13.0+shim)")
    return top


def _add_run(command: Callable[..., argparse.ArgumentParser], name: str) -> None:
    run = command(
        "run", "run an unmodified script, module or program with our torch, as python runs it",
        f"{name} run [options] script.py [arguments]\n       {name} run [options] -m module [arguments]\n"
        f"       {name} run [options] -c program [arguments]",
    )  # fmt: skip
    run.add_argument("--scope", action="append", help="packages that get torch (comma separated); default: all")
    run.add_argument("--hidden", action="append", help="packages that are absent for it (comma separated)")
    run.add_argument("--version", help="what torch.__version__ says")
    run.add_argument("--no-children", action="store_true", help="Python programs that it starts get no torch from us")
    run.add_argument(
        "--summary",
        action="store_true",
        help="at the end say on stderr which torch names were missing, and what was slow",
    )
    kind = run.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="module", action="store_true", help="the target is a module name")
    kind.add_argument("-c", dest="program", action="store_true", help="the target is a program")
    run.add_argument(
        "target", help="script.py, - (standard input), a folder or zip file with __main__.py, or as -m or -c say"
    )
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the target's own").required = False


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status."""
    from shim_torch_proxy import child

    options, others = parser().parse_known_args(arguments)
    if others:  # argparse's own message shows the usage of all commands
        options.refuse(f"unrecognized arguments: {' '.join(others)}")
    child.leave()  # this command says itself what is to be enabled
    if options.command == "run":
        from shim_torch_proxy.cli import run

        return run.main(
            options.target,
            options.arguments,
            options.module,
            options.scope,
            options.version,
            options.program,
            children=not options.no_children,
            summary=options.summary,
            hidden=options.hidden,
        )
    try:
        status = _report(options)
        sys.stdout.flush()
    except BrokenPipeError:  # "| head" has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _report(options: argparse.Namespace) -> int:
    if options.command == "scan":
        from shim_torch_proxy.cli import scan

        return scan.main(options.target, options.json)
    if options.command == "coverage":
        from shim_torch_proxy.cli import coverage

        return coverage.main(options.missing)
    if options.command == "provide":
        from shim_torch_proxy.cli import provide

        return provide.main(options.remove, options.version)
    from shim_torch_proxy.cli import doctor

    return doctor.main(options.json, options.mends)


if __name__ == "__main__":
    sys.exit(main())
