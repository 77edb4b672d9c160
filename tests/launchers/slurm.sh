#!/usr/bin/env bash
# slurm.sh PROGRAM: flowtrain under a Slurm of one node, which this test starts on loopback and ends: started by srun,
# preempted by a signal, requeued, resumed. Exits 77 where there is no Slurm, or this user may not start one.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

PATH=$PATH:/usr/sbin:/sbin
for needed in slurmctld slurmd srun sbatch scancel munged; do
  command -v "$needed" >/dev/null || skip "$needed" "$needed is not installed (packages slurm-wlm and munge)"
done
((EUID == 0)) || skip root 'only root can start jobs with a slurmd of its own'
begin "$1"

# --- The cluster --------------------------------------------------------------------------------------------------

start_cluster() {
  mkdir state spool
  export SLURM_CONF=$work/slurm.conf
  # Without cgroups or other rights over the machine, so that it runs in a container, too. A job that was requeued waits
  # until its credentials have expired: 120 seconds, if nothing is said. Two ranks share a core where there is but one.
  cat >"$SLURM_CONF" <<CONF
ClusterName=flowtrain
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
SlurmdParameters=config_overrides
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SchedulerParameters=sched_interval=2,batch_sched_delay=0
FirstJobId=$((RANDOM % 9000 + 1))
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes=ALL Default=YES
CONF
  (umask 077 && head -c 1024 /dev/urandom >munge.key)
  munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
    --seed-file="$work/munge.seed" --log-file="$work/munged.log" >>munged.log 2>&1 &
  wait_until 30 'the socket of munged' test -S munge.socket
  slurmctld -D -i >slurmctld.log 2>&1 &
  slurmd -D -N localhost >slurmd.log 2>&1 &
  disown -a  # the shell need not tell that they were killed in the end
  wait_until 60 'an idle node of Slurm' node_is idle
}

node_is() { [[ $(sinfo --noheader --format=%T 2>/dev/null) == "$1" ]]; }
job_is_over() { [[ -z $(squeue --noheader --name="$1" 2>/dev/null) ]]; }

# --- The tests ----------------------------------------------------------------------------------------------------

start_cluster
train_straight

run_of srun
logged srun srun -n2 "${command[@]}"
ended_well srun
same_end srun straight params_xxh64 order_xxh64
passed 'two tasks of srun end as two ranks that flowtrain starts itself'

for signal in TERM USR1; do
  run=stopped-$signal
  run_of "$run"
  launch "$run" srun -n2 --job-name="$run" "${command[@]}"
  wait_for_snapshot "$run"
  scancel --signal="$signal" --name="$run"
  wait_for_launcher
  ((code == 143)) || fail "SIG$signal was sent to the step, and srun ended with $code, not with 143"
  logged "$run" srun -n2 "${command[@]}"
  ended_well "srun of the run that was stopped"
  resumed "$run"
  same_end "$run" straight params_xxh64 order_xxh64
  passed "SIG$signal to the step: 143; the next srun resumed, and ended as a run that was not disturbed"
done

# What a user would submit: a job that goes back into the queue when it was preempted.
cat >job.sh <<'JOB'
#!/bin/bash
echo "start ${SLURM_RESTART_COUNT:-0}"
code=0
srun -n2 "$@" || code=$?
echo "srun ended with $code"
if ((code == 143)); then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
JOB
chmod +x job.sh

by_itself() { scancel --signal=USR1 --name="$1"; }
by_scheduler() { scontrol requeue "$(squeue --noheader --name="$1" --format=%A)"; }

for preempt in by_itself by_scheduler; do
  run=requeued-$preempt
  run_of "$run"
  sbatch --requeue --open-mode=append --output="$run.log" -n2 --job-name="$run" job.sh "${command[@]}" \
    >submitted.log 2>&1
  wait_for_snapshot "$run"
  "$preempt" "$run"
  wait_until 120 "the end of the job $run" job_is_over "$run"
  [[ $(grep -c '^start' "$run.log") == 2 ]] || fail "the job $run was not started twice"
  resumed "$run"
  same_end "$run" straight params_xxh64 order_xxh64
  passed "a job that was requeued $preempt resumed, and ended as a run that was not disturbed"
done
