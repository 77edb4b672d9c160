#!/usr/bin/env bash
# Makes a visit on the CPU, from a pack: its scripts work, nothing is missing in the folder that travels, and few files
# come back, also of a call that is killed.
#   tests/gpu/rehearse.sh BUILD SITE      SITE: the folder of Python's packages that holds torch
# FLOWTRAIN_REHEARSE_PYTHON is the folder of a python3 to take in place of that of the path.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

if [[ ! -e $1/lib/libflowtrain_nccl.so || ! -e $1/lib/libflowtrain_cuda.so ]]; then
  echo 'skipped: [gpu-parts] the parts for GPUs are not built: they need nvcc and nccl.h'
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
tests/gpu/pack "$1" "$folder/pack"
cd "$folder/pack"
mkdir "$folder/tmp"  # a call that is killed leaves its files there
export TMPDIR=$folder/tmp FLOWTRAIN_TEST_DEVICE=cpu PYTHONPATH=$2
export PATH=${FLOWTRAIN_REHEARSE_PYTHON:+$FLOWTRAIN_REHEARSE_PYTHON:}$PATH

# The files that come back: three, none of them large or in a folder.
check() {
  local found
  found=$(cd "$1" && find . -type f | sort | tr '\n' ' ')
  [[ $found == './logs.tar.gz ./results.jsonl ./results.md ' ]] || { echo "error: $1 has $found"; exit 1; }
  [[ -z $(find "$1" -size +16M) ]] || { echo "error: $1 has a file of more than 16 MiB"; exit 1; }
  tar -tzf "$1/logs.tar.gz" >/dev/null
}

seconds=$(./visit first --list | awk 'END { print $1 }')
((seconds <= 530)) || { echo "error: the first call may take $seconds s, more than 530"; exit 1; }

./visit first --only machine,steps_small --seconds 3000 --out "$folder/cut" &
visit=$!
until [[ -e $folder/cut/results.jsonl ]]; do sleep 0.2; done
sleep 3
children=$(pgrep -P "$visit" || true)
kill -9 "$visit"
for child in $children; do kill -9 -- "-$child" 2>/dev/null || true; done
rm -f -- "$folder"/cut/*.new
check "$folder/cut"
grep -q '"part": "machine", "rc": 0' "$folder/cut/results.jsonl"

status=0
for call in first second; do
  ./visit "$call" --seconds 3000 --out "$folder/$call" || status=1
  check "$folder/$call"
done
exit "$status"
