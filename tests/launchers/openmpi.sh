#!/usr/bin/env bash
# openmpi.sh PROGRAM: flowtrain under mpirun. Exits 77 where there is none.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

command -v mpirun >/dev/null || skip mpirun 'mpirun is not installed (package openmpi-bin)'
[[ $(mpirun --version 2>/dev/null) == *'Open MPI'* ]] || skip open-mpi 'mpirun is not that of Open MPI'
begin "$1"
# A test machine may have one core, and run all as root.
mpirun=(mpirun -n 2 --oversubscribe --allow-run-as-root)

run_of one
logged one "${command[@]}"
ended_well 'a single process'
run_of two
logged two "${mpirun[@]}" "${command[@]}"
ended_well mpirun
same_end two one order_xxh64
passed 'two ranks saw the samples of one process, in its order'

for rank in 0 1; do
  run=killed-$rank
  run_of "$run"
  launch "$run" "${mpirun[@]}" "${command[@]}"
  wait_for_snapshot "$run"
  victim=$(rank_process "$run" OMPI_COMM_WORLD_RANK "$rank")
  kill -KILL "$victim"
  wait_for_launcher
  ((code != 0)) || fail "rank $rank was killed, and mpirun ended with 0"
  grep -q 'exited on signal 9' "$run.log" || fail "mpirun ended with $code, but not as rank $rank was killed"
  wait_until 5 'the end of all that mpirun had started' nothing_runs
  passed "rank $rank was killed: mpirun ended with $code and left nothing behind"
done
