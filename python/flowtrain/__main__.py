"""python -m flowtrain export …"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> int:
    """Runs the command. Returns the exit code: 0, or 2 where the arguments or the net are at fault."""
    if arguments[:1] != ["export"]:
        print("usage: python -m flowtrain export NET -o net.pt2; see export --help", file=sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    try:
        from flowtrain._export._command import main as export
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        print("error: export needs PyTorch: pip install torch==2.11.0", file=sys.stderr)
        return 2
    return export(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
