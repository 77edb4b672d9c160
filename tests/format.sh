#!/usr/bin/env bash
# Checks that clang-format would change nothing. Versions of clang-format differ in what they do: 14 it is.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

for formatter in clang-format-14 clang-format; do
  if version=$("$formatter" --version 2>/dev/null) && [[ $version == *' 14.'* ]]; then
    git ls-files '*.cpp' '*.h' '*.hpp' '*.cu' '*.cuh' | xargs -n 40 "$formatter" --dry-run --Werror
    exit
  fi
done
echo 'skipped: [clang-format-14] clang-format 14 is not installed'
exit 77
