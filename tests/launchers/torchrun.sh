#!/usr/bin/env bash
# torchrun.sh PROGRAM [FOLDER]: flowtrain under torchrun, which starts ranks again after one was killed. FOLDER holds
# the torch package that the program was built with. FLOWTRAIN_TEST_PYTHONPATH: a folder with another one. Exits 77
# where no Python has torch.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

if [[ -n ${FLOWTRAIN_TEST_PYTHONPATH:-} ]]; then
  export PYTHONPATH=$FLOWTRAIN_TEST_PYTHONPATH${PYTHONPATH:+:$PYTHONPATH}
fi

runs() { timeout 60 "$@" --help >/dev/null 2>&1; }

# The build's own comes last: cmake/go leaves out the CUDA libraries that Python's torch needs where there is no GPU.
if runs torchrun; then
  torchrun=(torchrun)
elif runs python3 -m torch.distributed.run; then
  torchrun=(python3 -m torch.distributed.run)
elif runs env PYTHONPATH="${2:-}" python3 -m torch.distributed.run; then
  torchrun=(env PYTHONPATH="$2" python3 -m torch.distributed.run)
else
  skip python-torch \
    "neither torchrun nor a python3 that can import torch is there (FLOWTRAIN_TEST_PYTHONPATH may name a folder)"
fi
begin "$1"
train_straight

# With a port, the ranks meet at the store of torchrun's agent; standalone is torchrun's other way to meet.
for rank in 0 1; do
  if ((rank == 0)); then meeting=--standalone; else meeting=--master-port=$(free_port); fi
  run=killed-$rank
  run_of "$run"
  launch "$run" "${torchrun[@]}" "$meeting" --nproc-per-node 2 --max-restarts 2 --no-python "${command[@]}"
  wait_for_snapshot "$run"
  victim=$(rank_process "$run" RANK "$rank")
  kill -KILL "$victim"
  wait_for_launcher
  ended_well "torchrun $meeting, one rank of which was killed,"
  resumed "$run"
  same_end "$run" straight params_xxh64 order_xxh64
  passed "rank $rank was killed: torchrun $meeting started both again, and the run ended as one that was not disturbed"
done
