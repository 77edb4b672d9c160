#!/usr/bin/env bash
# Checks that no line of a script is longer than 120 columns, and that clang-format would change nothing. Versions of
# clang-format differ in what they do: 14 it is.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
status=0

scripts() {
  git ls-files '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' '.ci/*' cmake/go
  git ls-files --stage benchmarks tests | sed -n $'s/^100755 [^\t]*\t//p'
}
# Columns are characters: of one in UTF-8 every byte but the first is dropped, for an awk that counts bytes.
scripts | LC_ALL=C sort -u | LC_ALL=C xargs -n 40 awk '
  { gsub(/[\200-\277]/, "") }
  length($0) > 120 { print FILENAME ":" FNR ": longer than 120 columns"; long = 1 }
  END { exit long }' || status=1

for formatter in clang-format-14 clang-format; do
  if version=$("$formatter" --version 2>/dev/null) && [[ $version == *' 14.'* ]]; then
    git ls-files '*.cpp' '*.h' '*.hpp' '*.cu' '*.cuh' | xargs -n 40 "$formatter" --dry-run --Werror || status=1
    exit "$status"
  fi
done
if ((status != 0)); then exit "$status"; fi
echo 'skipped: [clang-format-14] clang-format 14 is not installed'
exit 77
