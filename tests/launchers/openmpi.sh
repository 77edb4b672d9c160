#!/usr/bin/env bash
# openmpi.sh PROGRAM: flowtrain under mpirun. Exits 77 where there is none.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

command -v mpirun >/dev/null || skip 'mpirun is not installed (package openmpi-bin)'
[[ $(mpirun --version 2>/dev/null) == *'Open MPI'* ]] || skip 'mpirun is not that of Open MPI'
begin "$1"
export TMPDIR=$work  # where mpirun keeps its session, which it leaves behind when it is killed
# A test machine may have one core, and run all as root.
mpirun=(mpirun -n 2 --oversubscribe --allow-run-as-root)

run_of one
logged one "${command[@]}"
((code == 0)) || fail "a single process ended with $code"
run_of two
logged two "${mpirun[@]}" "${command[@]}"
((code == 0)) || fail "mpirun ended with $code"
same_end two one order_xxh64
passed 'two ranks saw the samples of one process, in its order'

for rank in 0 1; do
  run=killed-$rank
  run_of "$run"
  timeout -k 10 120 "${mpirun[@]}" "${command[@]}" >"$run.log" 2>&1 </dev/null &
  launcher=$!
  wait_for_snapshot "$run"
  victim=$(rank_process "$run" OMPI_COMM_WORLD_RANK "$rank")
  kill -KILL "$victim"
  code=0
  wait "$launcher" || code=$?
  # 124 and 137 are those of timeout: mpirun did not end by itself; 137 is also what mpirun says of the victim.
  ((code != 0 && code != 124)) || fail "rank $rank was killed, and mpirun ended with $code"
  left=$(started)
  [[ -z $left ]] || fail "rank $rank was killed, and these processes are left over: $left"
  passed "rank $rank was killed: mpirun ended with $code and left nothing behind"
done
