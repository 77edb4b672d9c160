"""The start of tests that open pages in Chromium."""
import os
import shutil
import sys


def skip(reason):
    """Ends the test, which ctest then shows as skipped."""
    print("skipped: " + reason)
    sys.exit(77)


def program_or_skip():
    """The program in the build folder that the command line names. Skips where it, or Chromium, is not there."""
    program = sys.argv[1] + "/bin/flowtrain"
    if not shutil.which("chromium"):
        skip("there is no chromium")
    if not os.path.exists(program):
        skip("flowtrain is not built")
    return program
