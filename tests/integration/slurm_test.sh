#!/bin/bash
# slurm_test.sh TRAIN_GPT_DDP BATCH_FILE: a real Slurm, set up from nothing, runs the batch file of docs/clusters on two
# hosts of this machine (two_hosts.sh). A job is preempted twice, once by a signal (as before the end of its time) and
# once by the scheduler; it queues itself again, resumes, and ends with the losses of a job that nobody disturbed.
# 77 (skipped) where Slurm's packages are missing, or namespaces.
set -euo pipefail
# shellcheck source=tests/integration/two_hosts.sh
. "$(dirname "$(readlink -f "$0")")/two_hosts.sh"

if [ "${1:-}" != inside ]; then
  need_programs "slurmctld slurmd slurm-client munge openssl" munged slurmctld slurmd sbatch scontrol scancel sinfo openssl
  enter_namespaces "$(readlink -f "$1")" "$(readlink -f "$2")"
fi
PATH=$PATH:/usr/sbin:/sbin
readonly program=$2 batch_file=$3 steps=40
export SLURM_CONF=$folder/slurm.conf

fail() {
  echo "slurm_test: $1"
  scontrol show job || true
  for log in "$folder"/*.log; do
    printf '\n--- %s\n' "$log"
    tail -n 40 "$log"
  done
  exit 1
}

make_two_hosts

# --- A cluster.
mkdir -m 755 "$folder/state" "$folder/munge"
(umask 077 && openssl rand 128 >"$folder/munge.key")
munged --key-file="$folder/munge.key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge.log" --seed-file="$folder/munge/seed"
cat >"$SLURM_CONF" <<END
ClusterName=course
SlurmctldHost=node1(10.78.0.1)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=10
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
ReturnToService=2
KillWait=60
SlurmdParameters=config_overrides
NodeName=node1 NodeAddr=10.78.0.1 CPUs=2
NodeName=node2 NodeAddr=10.78.0.2 CPUs=2
PartitionName=course Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
END
slurmctld
for node in node1 node2; do on "$node" slurmd -N "$node"; done
are_idle() { [ "$(sinfo --noheader --states=idle --format=%D)" = "$1" ]; }
wait_for "both nodes" are_idle 2

# --- Jobs.
seq 1 4000 | sed 's/.*/Ring after ring, rank after rank, number &./' >"$folder/text.txt"

submit() { # NAME: starts the batch file, prints the job's number
  (cd "$folder" && sbatch --parsable --output="$folder/$1.log" "$batch_file" "$program" "$folder/$1" \
    --data "$folder/text.txt" --steps "$steps" --batch-size 8 --dropout 0.1 --sample-tokens 0 --validate-every 0 \
    --save-every 1000)
}
state_is() { [ "$(scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p')" = "$2" ]; }
restarts_are() { [ "$(scontrol show job "$1" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p')" = "$2" ]; }
finish() { wait_for "the end of job $1" sh -c "scontrol show job $1 | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED)'"; }
# "STEP LOSS" of each step, as the run's file of metrics has them.
losses() { sed -n 's/^{"step":\([0-9]*\),.*"loss":\([^,}]*\),.*/\1 \2/p' "$folder/$1"/*/metrics.jsonl; }
has_step() { [ "$(losses "$1" | tail -n 1 | cut -d' ' -f1)" -ge "$2" ]; }

undisturbed=$(submit undisturbed)
finish "$undisturbed"
state_is "$undisturbed" COMPLETED || fail "the job that nobody disturbs did not complete"
[ "$(losses undisturbed | wc -l)" -eq "$steps" ] || fail "the job that nobody disturbs has other than $steps steps"

preempted=$(submit preempted)
last_step() { losses "$1" | tail -n 1 | cut -d' ' -f1; }
wait_for "the first steps" has_step preempted 3
scancel --signal=TERM "$preempted" # what --signal=TERM@120 does before the time is over
wait_for "the job to queue itself again" restarts_are "$preempted" 1
first_stop=$(last_step preempted)
wait_for "more steps" has_step preempted $((first_stop + 3))
scontrol requeue "$preempted" # what a scheduler does that needs the nodes
wait_for "the job to be in the queue again" restarts_are "$preempted" 2
second_stop=$(last_step preempted)
finish "$preempted"
state_is "$preempted" COMPLETED || fail "the preempted job did not complete"
if [ "$first_stop" -ge "$second_stop" ] || [ "$second_stop" -ge "$steps" ]; then
  fail "the job stopped after steps $first_stop and $second_stop of $steps"
fi
[ "$(losses undisturbed)" = "$(losses preempted)" ] ||
  fail "the losses differ: $(diff <(losses undisturbed) <(losses preempted))"
[ "$(grep -c 'ranks   4' "$folder/preempted.log")" -ge 1 ] || fail "the job did not run as four ranks"
echo "two nodes, four ranks: preempted after steps $first_stop and $second_stop of $steps, resumed, and every loss is" \
  "that of the job that nobody disturbed (the last: $(losses preempted | tail -n 1 | cut -d' ' -f2))"
