"""The command line of the Python package: python -m flowtrain COMMAND."""

from __future__ import annotations

import argparse
import difflib
import sys

import flowtrain
from flowtrain.export import TORCH, ExportError, check_torch

_COMMANDS = {"export": f"compile a net of PyTorch {TORCH} with its loss for the native program, into a file net.pt2"}

_EXAMPLES = """examples:
  python -m flowtrain export timm:resnet18 --classes 10 -o net.pt2
  python -m flowtrain export hf:gpt2 --length 256 -o gpt2.pt2
  python -m flowtrain export net.pt2 -o net.pt2      make a package again, for another machine or version
  python -m flowtrain export --help                  list the options

In Python: import flowtrain as ft; ft.Loader makes batches, ft.DataLoader stands in for PyTorch's, ft.export compiles a
net of your own, ft.train runs the native program, and ft.Run reads the folder of a run; help(ft.Loader) explains each.
Training itself is the command `flowtrain CONFIG`, the native program."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m flowtrain", usage="python -m flowtrain COMMAND [OPTIONS]", epilog=_EXAMPLES,
        description="Commands of flowtrain's Python package.", formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"flowtrain {flowtrain.__version__}",
                        help="print the version and exit")
    commands = parser.add_argument_group("commands")
    for name, text in _COMMANDS.items():
        commands.add_argument(name, help=text, nargs="?")
    return parser


def main(arguments: list[str]) -> int:
    """Runs the command. Returns the exit code: 0, or 2 if the arguments or the net are at fault."""
    if not arguments or arguments[0] not in _COMMANDS:
        if arguments and not arguments[0].startswith("-"):
            near = difflib.get_close_matches(arguments[0], _COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else "python -m flowtrain --help lists the commands"
            print(f"error: no command {arguments[0]!r}: {hint}", file=sys.stderr)
            return 2
        _parser().parse_args(arguments)  # ends for --help and --version
        _parser().print_help(sys.stderr)
        return 2
    try:
        check_torch()
    except ExportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    from flowtrain._export._command import main as export

    return export(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
