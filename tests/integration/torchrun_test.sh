#!/bin/bash
# torchrun_test.sh RING_ALL_REDUCE: PyTorch's torchrun starts four ranks on two hosts of this machine (two_hosts.sh), as
# docs/clusters/torchrun.md says. 77 (skipped) where there is no torchrun, or no namespaces.
set -euo pipefail
# shellcheck source=tests/integration/two_hosts.sh
. "$(dirname "$(readlink -f "$0")")/two_hosts.sh"

if [ "${1:-}" != inside ]; then
  need_programs "python3-torch openssl" torchrun openssl
  enter_namespaces "$(readlink -f "$1")"
fi
readonly program=$2

fail() {
  echo "torchrun_test: $1"
  cat "$folder"/out* || true
  exit 1
}

make_two_hosts
LOCKSTEP_TOKEN=$(openssl rand -hex 32)
export LOCKSTEP_TOKEN
start() { # NODE-RANK
  on "node$(($1 + 1))" timeout 150 torchrun --no_python --redirects 1 --tee 1 --log_dir "$folder/log$1" --nnodes 2 --nproc_per_node 2 --node_rank "$1" \
    --master_addr node1 --master_port 29500 "$program" --count 3 >"$folder/out$1" 2>&1
}
start 1 &
readonly second=$!
start 0 || fail "torchrun on node1 ended with $?"
wait "$second" || fail "torchrun on node2 ended with $?"
[ "$(cat "$folder"/out* | grep -c -- '-> \[10, 20, 30\]')" -eq 4 ] || fail "four ranks should have printed [10, 20, 30]"
grep -h -- '->' "$folder"/out*
