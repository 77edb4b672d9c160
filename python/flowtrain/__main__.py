"""python -m flowtrain export …"""

from __future__ import annotations

import sys

from flowtrain.export import TORCH, ExportError, check_torch


def main(arguments: list[str]) -> int:
    """Runs the command. Returns the exit code: 0, or 2 where the arguments or the net are at fault."""
    if arguments[:1] != ["export"]:
        print("usage: python -m flowtrain export NET -o net.pt2; see export --help", file=sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    try:
        check_torch()
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        print(f"error: export needs PyTorch: pip install torch=={TORCH}.0", file=sys.stderr)
        return 2
    except ExportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    from flowtrain._export._command import main as export

    return export(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
