#!/bin/sh
# mpirun.sh RANKS PROGRAM [ARGUMENT...]: runs a test's program as processes on this host, with an empty folder in
# LOCKSTEP_TEST_PROCESSES. LOCKSTEP_MPIRUN_OPTIONS: words for mpirun.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LOCKSTEP_TEST_PROCESSES="$folder"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT LOCKSTEP_STORE
# Loopback only. Copies through the kernel are what containers forbid, with a warning on every run.
export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_btl_vader_single_copy_mechanism=none
as_root=''
[ "$(id -u)" -ne 0 ] || as_root=--allow-run-as-root
ranks=$1
shift
# shellcheck disable=SC2086  # options are words
timeout -k 5 110 mpirun $as_root --oversubscribe ${LOCKSTEP_MPIRUN_OPTIONS:-} -n "$ranks" "$@"
