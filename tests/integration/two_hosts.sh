# shellcheck shell=bash
# For scripts that need two hosts on this machine: source it, then
#   enter_namespaces "$@"   begins the script again, with the word "inside" before its arguments, in namespaces of its own:
#                           processes, network, host name and mounts, with an empty /run. All of it ends with the script,
#                           however that ends: no process, file or interface is left. Exit status 77 where it cannot be.
#   make_two_hosts          node1 (10.78.0.1) and node2 (10.78.0.2), joined by the interface "cable". node1 is the
#                           script's own network. Each has an /etc/hosts of its own, as Debian's installer writes it:
#                           a host's own name is 127.0.1.1 there.
#   on node2 COMMAND...     runs a command on a host; $folder is the same on both.
folder=/run/lockstep
export folder

skip() {
  echo "$1: skipped"
  exit 77
}

need_programs() { # PACKAGES PROGRAM...
  local packages=$1 program
  shift
  PATH=$PATH:/usr/sbin:/sbin
  for program in "$@"; do
    command -v "$program" >/dev/null || skip "no $program (Debian: $packages)"
  done
}

enter_namespaces() {
  local -a own=(unshare --mount --net --uts --pid --fork --kill-child --mount-proc)
  need_programs "util-linux iproute2" unshare nsenter ip
  [ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
  "${own[@]}" true 2>/dev/null || skip "namespaces are refused here"
  exec "${own[@]}" "$0" inside "$@"
}

# wait_for WHAT COMMAND...: until the command succeeds. Calls fail(), which the script has.
wait_for() {
  local what=$1 limit=${LOCKSTEP_TEST_SECONDS:-240} begin=$SECONDS
  shift
  until "$@" >/dev/null 2>&1; do
    [ $((SECONDS - begin)) -lt "$limit" ] || fail "not within $limit s: $what"
    sleep 0.2
  done
}

other_host=''
on() { # NODE COMMAND...
  local node=$1
  shift
  if [ "$node" = node1 ]; then
    "$@"
  else
    nsenter --target "$other_host" --net --uts --mount -- "$@"
  fi
}

is_apart() { [ "$(readlink "/proc/$1/ns/$2")" != "$(readlink "/proc/self/ns/$2")" ]; }

make_two_hosts() {
  local number
  mount -t tmpfs tmpfs /run
  mkdir -m 755 "$folder"
  unshare --net --uts --mount sleep infinity &
  other_host=$!
  wait_for "a second network" is_apart "$other_host" net
  ip link add cable type veth peer name cable netns "$other_host"
  for number in 1 2; do
    on "node$number" hostname "node$number"
    on "node$number" ip link set lo up
    on "node$number" ip address add "10.78.0.$number/24" dev cable
    on "node$number" ip link set cable up
    printf '127.0.0.1 localhost\n127.0.1.1 node%s\n10.78.0.%s node%s\n' \
      "$number" $((3 - number)) $((3 - number)) >"$folder/hosts$number"
    on "node$number" mount --bind "$folder/hosts$number" /etc/hosts
  done
  unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT LOCKSTEP_STORE LOCKSTEP_TOKEN
}
