#!/usr/bin/env bash
# run.sh BUILD FILE PYTHON PACKAGES: runs a file of the Python package's tests against the build's package.
set -euo pipefail

build=$1 file=$2 python=$3 packages=$4
if [[ -z $packages ]]; then
  echo "skipped: [nanobind] the Python package was not built: cmake/go test full builds it"
  exit 77
fi
if [[ ${file##*/} == test_torch* ]] &&
  ! PYTHONPATH=${FLOWTRAIN_TEST_PYTHONPATH:-} "$python" -c 'import torch' 2>/dev/null; then
  echo "skipped: [python-torch] this Python has no PyTorch"
  exit 77
fi
export PYTHONPATH=$build/python:$packages:${FLOWTRAIN_TEST_PYTHONPATH:-} PYTHONDONTWRITEBYTECODE=1
# Nets of tests are small, and other tests run beside: threads that wait, processes that compile for GPUs alone, and
# optimized code around the kernels, which have their own flags, cost more than they bring.
export OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=1 AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL=O0
status=0
"$python" -m pytest -q -rs -p no:cacheprovider --rootdir "$(dirname -- "$file")" "$file" || status=$?
if ((status == 5)); then  # pytest's word for a file without tests, as is one that skips itself
  echo "skipped: [python-module] a module that ${file##*/} needs is not there; pytest names it above"
  exit 77
fi
exit "$status"
