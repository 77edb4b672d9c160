#!/usr/bin/env bash
# A visit on the CPU, from a pack: that its scripts work, and that nothing is missing in the folder that travels.
#   tests/gpu/rehearse.sh BUILD SITE      SITE: the folder of Python's packages that holds torch
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
export FLOWTRAIN_TEST_DEVICE=cpu PYTHONPATH=$2
status=0
for call in proof measure answers; do
  ./visit "$call" --minutes 30 --out "$folder/out" || status=1
done
exit "$status"
