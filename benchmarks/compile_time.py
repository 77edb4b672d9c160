#!/usr/bin/env python3
"""Lists how long each target of a build took to compile, largest first.

    CCACHE_DISABLE=1 cmake --build build/release
    benchmarks/compile_time.py build/release

Reads Ninja's log of the folder. Times are wall times of single compilers, summed: on a quiet machine with as many jobs
as cores they are close to CPU time. Links and the steps of CMake itself are in one row.
"""
import collections
import pathlib
import re
import sys

OBJECT = re.compile(r"CMakeFiles/([^/]+)\.dir/.*\.(o|gch)$")

lines = pathlib.Path(sys.argv[1], ".ninja_log").read_text().splitlines()
steps = {output: (int(end_ms) - int(begin_ms)) / 1000  # the last one of each output
         for begin_ms, end_ms, _, output, _ in (line.split("\t") for line in lines if not line.startswith("#"))}

seconds, files = collections.Counter(), collections.Counter()
for output, spent in steps.items():
    found = OBJECT.search(output)
    target = found[1] if found else "(links and others)"
    seconds[target] += spent
    files[target] += bool(found)

print(f"{'target':32} {'files':>5} {'seconds':>8}")
for target, spent in seconds.most_common():
    print(f"{target:32} {files[target]:5} {spent:8.1f}")
print(f"{'in all':32} {sum(files.values()):5} {sum(seconds.values()):8.1f}")
