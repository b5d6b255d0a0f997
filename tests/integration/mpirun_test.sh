#!/bin/sh
# mpirun_test.sh PROGRAM: starts chapter 02's ring_all_reduce as three ranks with Open MPI's mpirun and nothing else
# told, as the lesson promises. 77 (skipped) where there is no mpirun, or it is not Open MPI's.
set -eu
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "no mpirun of Open MPI: skipped"; exit 77; }
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT LOCKSTEP_STORE
as_root=''
[ "$(id -u)" -ne 0 ] || as_root=--allow-run-as-root
# shellcheck disable=SC2086  # no word where it is empty
out=$(timeout 50 mpirun $as_root --oversubscribe -n 3 "$1" --count 3)
echo "$out"
[ "$(echo "$out" | grep -c -- '-> \[6, 12, 18\]')" -eq 3 ] || { echo "three ranks should have printed [6, 12, 18]"; exit 1; }
