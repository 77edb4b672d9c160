#!/usr/bin/env bash
# Lists the test cases that the last run of ctest skipped, with their reasons.
#   tests/skipped.sh BUILD            the list
#   tests/skipped.sh BUILD --strict   fails where one was skipped though this machine has what it needs
set -euo pipefail

log=$1/Testing/Temporary/LastTest.log
if [[ ! -e $log ]]; then exit 0; fi

# has NEED: whether this machine has what a skipped test said that it lacks. One line for each word that tests use.
has() {
  case $1 in
    gpu) timeout 20 nvidia-smi -L 2>/dev/null | grep -q '^GPU' ;;
    no-gpu) [[ ! -e /dev/nvidiactl && ! -e /dev/dxg ]] ;;
    root) ((EUID == 0)) && unshare --mount mount -t tmpfs none /mnt 2>/dev/null ;;
    no-root) ((EUID != 0)) ;;
    namespaces) ((EUID == 0)) && command -v ip >/dev/null &&
      unshare --net --mount ip link add ft0 type veth peer name ft1 2>/dev/null ;;
    ptrace) python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)' ;;
    shared) [[ -d $(dirname -- "${BASH_SOURCE[0]}")/../../shared ]] ;;
    pycocotools) PYTHONPATH=${FLOWTRAIN_TEST_PYTHONPATH:-} python3 -c 'import pycocotools' 2>/dev/null ;;
    python-tensorboard | python-prometheus_client | python-onnxruntime)
      PYTHONPATH=${FLOWTRAIN_TEST_PYTHONPATH:-} python3 -c "import ${1#python-}" 2>/dev/null ;;
    python-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    pip-network) python3 -m pip download --quiet --no-deps --dest "$(mktemp -d)" nanobind-backend 2>/dev/null ;;
    python-torch) PYTHONPATH=${FLOWTRAIN_TEST_PYTHONPATH:-} python3 -c 'import torch' 2>/dev/null ;;
    python-torch-export)
      PYTHONPATH=${FLOWTRAIN_TEST_PYTHONPATH:-} python3 -c \
        'import torch; raise SystemExit(not torch.__version__.startswith("2.11."))' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;  # a program
  esac
}

status=0 count=0
while IFS=$'\t' read -r need reason name; do
  if ((count == 0)); then echo 'Skipped tests:'; fi
  count=$((count + 1))
  if [[ ${2:-} == --strict ]] && has "$need"; then
    echo "  $name: $reason: error: this machine has it ($need)"
    status=1
  else
    echo "  $name: $reason"
  fi
done < <(awk '
  / Test: / { name = $0; sub(/^[0-9]+\/[0-9]+ Test: /, "", name) }
  /^skipped: \[[^]]+\] / {
    need = $2; gsub(/[][]/, "", need)
    reason = $0; sub(/^skipped: \[[^]]+\] /, "", reason)
    if (!(name in seen)) print need "\t" reason "\t" name
    seen[name] = 1
  }' "$log")
exit "$status"
