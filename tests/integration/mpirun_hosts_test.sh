#!/bin/bash
# mpirun_hosts_test.sh RING_ALL_REDUCE: Open MPI's mpirun starts four ranks on two hosts of this machine (two_hosts.sh),
# as docs/clusters/mpirun.md says. In place of ssh a script enters the other host. 77 (skipped) where there is no mpirun
# of Open MPI, or no namespaces.
set -euo pipefail
# shellcheck source=tests/integration/two_hosts.sh
. "$(dirname "$(readlink -f "$0")")/two_hosts.sh"

if [ "${1:-}" != inside ]; then
  mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "no mpirun of Open MPI (Debian: openmpi-bin)"
  need_programs openssl openssl
  enter_namespaces "$(readlink -f "$1")"
fi
readonly program=$2

fail() {
  echo "mpirun_hosts_test: $1"
  exit 1
}

make_two_hosts
cat >"$folder/agent" <<END
#!/bin/sh
# agent HOST COMMAND...: what ssh would do
shift
exec nsenter --target $other_host --net --uts --mount -- sh -c "\$*"
END
chmod +x "$folder/agent"
printf 'node1 slots=2\nnode2 slots=2\n' >"$folder/hosts"
LOCKSTEP_TOKEN=$(openssl rand -hex 32)
export LOCKSTEP_TOKEN
out=$(timeout 60 mpirun --allow-run-as-root --mca plm_rsh_agent "$folder/agent" --hostfile "$folder/hosts" -n 4 \
  -x LOCKSTEP_TOKEN -x MASTER_ADDR=node1 "$program" --count 3) || fail "mpirun ended with $?: $out"
echo "$out"
[ "$(echo "$out" | grep -c -- '-> \[10, 20, 30\]')" -eq 4 ] || fail "four ranks should have printed [10, 20, 30]"
