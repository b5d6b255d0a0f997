#!/bin/bash
# hostfile_test.sh LOCKSTEP TRAIN_GPT_ELASTIC: `lockstep launch --hostfile` over a real ssh, as docs/clusters/hostfile.md
# says. node1 is the host where the launcher runs; node2 (two_hosts.sh) has an sshd of its own, with keys made for this
# test. Jobs end well, are interrupted, lose their launcher or a host; none of them leaves a process behind.
# 77 (skipped) where there is no OpenSSH server or client, or no namespaces.
set -euo pipefail
# shellcheck source=tests/integration/two_hosts.sh
. "$(dirname "$(readlink -f "$0")")/two_hosts.sh"

if [ "${1:-}" != inside ]; then
  need_programs "openssh-server openssh-client openssl procps" sshd ssh ssh-keygen openssl pgrep
  enter_namespaces "$(readlink -f "$1")" "$(readlink -f "$2")"
fi
PATH=$PATH:/usr/sbin
readonly lockstep=$2 trainer=$3

fail() {
  echo "hostfile_test: $1"
  for log in "$folder"/*.out "$folder"/*.err "$folder/sshd.log"; do
    printf '\n--- %s\n' "$log"
    tail -n 40 "$log" || true
  done
  exit 1
}

make_two_hosts
on node1 ip address add fd00:78::1/64 dev cable nodad
on node2 ip address add fd00:78::2/64 dev cable nodad
printf '10.78.0.9 node9\n' >>/etc/hosts # nobody is there

# --- An sshd on node2, which lets in whoever has the key that is made here.
mkdir -m 755 /run/sshd
mkdir -m 700 "$folder/ssh"
ssh-keygen -q -t ed25519 -N '' -f "$folder/ssh/host"
ssh-keygen -q -t ed25519 -N '' -f "$folder/ssh/user"
ssh-keygen -q -t ed25519 -N '' -f "$folder/ssh/stranger"
cp "$folder/ssh/user.pub" "$folder/ssh/authorized"
sed 's/^root:!/root:*/' /etc/shadow >"$folder/ssh/shadow" # an sshd lets nobody into an account that is locked
chmod 600 "$folder/ssh/shadow"
on node2 mount --bind "$folder/ssh/shadow" /etc/shadow
cat >"$folder/ssh/sshd_config" <<END
Port 2222
HostKey $folder/ssh/host
AuthorizedKeysFile $folder/ssh/authorized
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
END
on node2 "$(command -v sshd)" -D -E "$folder/sshd.log" -f "$folder/ssh/sshd_config" &
printf '%s %s\n' '*' "$(cut -d' ' -f1,2 "$folder/ssh/host.pub")" >"$folder/ssh/known"
cat >"$folder/ssh/config" <<END
Host elsewhere
  HostName node2
Host *
  Port 2222
  IdentityFile $folder/ssh/user
  IdentitiesOnly yes
  UserKnownHostsFile $folder/ssh/known
  HostKeyAlias node2
END
wait_for "sshd on node2" ssh -F "$folder/ssh/config" node2 true

cd "$folder"
LOCKSTEP_TOKEN=$(openssl rand -hex 32)
export LOCKSTEP_TOKEN OMP_NUM_THREADS=1 LOCKSTEP_LIVENESS_SECONDS=5 LOCKSTEP_GRACE_SECONDS=5
export LOCKSTEP_STATE_DIR=$folder/state
unset LOCKSTEP_TOKEN_FILE

launch() { # NAME OPTION...: the job's output is in NAME.out and NAME.err; returns its exit status
  local name=$1 status=0
  shift
  timeout 200 "$lockstep" launch --hostfile "$folder/hosts" --ssh-options "-F $folder/ssh/config" "$@" \
    >"$folder/$name.out" 2>"$folder/$name.err" || status=$?
  return "$status"
}
begin() { # NAME OPTION...: the same in the background, in a shell that is the launcher itself; $launcher is its number
  local name=$1
  shift
  set -m # else a job in the background ignores Ctrl-C
  "$lockstep" launch --hostfile "$folder/hosts" --ssh-options "-F $folder/ssh/config" "$@" \
    >"$folder/$name.out" 2>"$folder/$name.err" &
  launcher=$!
  set +m
}
says() { grep -q -F -e "$2" "$folder/$1" || fail "$1 does not say: $2"; }
ends_with() { # STATUS NAME OPTION...
  local expected=$1 status=0
  shift
  launch "$@" || status=$?
  [ "$status" -eq "$expected" ] || fail "$1 ended with $status instead of $expected"
}
is_nothing_left() { ! pgrep -f "/sleep 1000|as-agent|lockstep_reaper"; }
nothing_left() { wait_for "the end of every process of $1" is_nothing_left; }

# A program that all of them can see, and that pgrep finds.
cp "$(command -v sleep)" "$folder/sleep"

# --- What ranks get: numbers, folder, variables, no token on any command line, and their lines with prefixes.
printf '# two hosts\nnode1 slots=1\nroot@elsewhere slots=2 # by an alias of ssh\n' >hosts
cat >who.sh <<'END'
echo "$RANK of $WORLD_SIZE on $(hostname) in $PWD: ${SECRET:-} $NCCL_DEBUG $WANTED $GIVEN"
cat /proc/[1-9]*/cmdline 2>/dev/null | tr '\0' ' ' >"all.$RANK"
END
SECRET=no NCCL_DEBUG=VERSION WANTED=yes ends_with 0 variables --env WANTED --env GIVEN=1 -- sh ./who.sh
says variables.out "[rank 0] 0 of 3 on node1 in $folder: no VERSION yes 1" # which has the launcher's own environment
for rank in 1 2; do says variables.out "[rank $rank] $rank of 3 on node2 in $folder:  VERSION yes 1"; done
[ "$(wc -l <variables.out)" -eq 3 ] || fail "three ranks should have printed three lines"
! grep -q "$LOCKSTEP_TOKEN" all.* || fail "the token is on a command line"
grep -q as-agent all.2 || fail "the command lines that were searched are not those of the job"
nothing_left variables

# --- Training gives the losses of one host; the first host may be the far one, and have an IPv6 address.
seq 1 400 | sed 's/.*/Host after host, rank after rank, number &./' >text.txt
training=("$trainer" --data text.txt --steps 40 --batch-size 8 --dropout 0.1 --sample-tokens 0 --validate-every 0
  --save-every 1 --check-replicas 0)
losses() { sed -n 's/^{"step":\([0-9]*\),.*"loss":\([^,}]*\),.*/\1 \2/p' "$folder/$1"/*/metrics.jsonl; }
LOCKSTEP_TRANSPORT=tcp timeout 200 "$lockstep" launch --nproc 4 -- "${training[@]}" --out alone >alone.out 2>alone.err ||
  fail "training on one host"
[ "$(losses alone | wc -l)" -eq 40 ] || fail "40 steps have other than 40 losses"
is_as_alone() { [ "$(losses alone)" = "$(losses "$1")" ] || fail "losses differ: $(diff <(losses alone) <(losses "$1"))"; }
printf '[fd00:78::2] slots=3\nnode1 slots=1\n' >hosts
ends_with 0 far -- "${training[@]}" --out far
is_as_alone far
nothing_left far

# --- A host whose connection is cut comes back, and the job goes on. Slow steps see to it that it still runs by then.
printf 'node1 slots=2\nnode2 slots=2\n' >hosts
slow=(--inject 'rank=0 step=1 slow=0.1s')
begin restarted --max-restarts 2 "${slow[@]}" -- "${training[@]}" --out restarted
wait_for "the first steps" grep -q 'step  4/40' restarted.out
pkill -KILL -f "sshd: root@notty" || fail "there is no connection to cut"
wait "$launcher" || fail "restarted ended with $?"
says restarted.err "host node2 ($folder/hosts:2)"
says restarted.err "restart 1 of 2"
is_as_alone restarted
nothing_left restarted

# --- So does one that was unplugged.
begin replugged --max-restarts 2 "${slow[@]}" -- "${training[@]}" --out replugged
wait_for "the first steps" grep -q 'step  4/40' replugged.out
ip link set cable down
wait_for "the loss of node2" grep -q 'host node2 (node rank 1) is lost' replugged.err
ip link set cable up
wait "$launcher" || fail "replugged ended with $?"
says replugged.err "restart 1 of 2"
is_as_alone replugged
nothing_left replugged

# --- Ctrl-C, and the launcher's sudden death.
begin interrupted -- "$folder/sleep" 1000
wait_for "four ranks" sh -c "[ \$(pgrep -c -f '^$folder/sleep') -eq 4 ]"
kill -INT "$launcher"
status=0
wait "$launcher" || status=$?
[ "$status" -eq 130 ] || fail "after Ctrl-C the launcher ended with $status"
nothing_left interrupted
begin killed -- "$folder/sleep" 1000
wait_for "four ranks" sh -c "[ \$(pgrep -c -f '^$folder/sleep') -eq 4 ]"
kill -KILL "$launcher"
wait "$launcher" || true
nothing_left killed
begin frozen -- "$folder/sleep" 1000
wait_for "four ranks" sh -c "[ \$(pgrep -c -f '^$folder/sleep') -eq 4 ]"
kill -STOP "$launcher"
wait_for "the end of ranks whose launcher is frozen" sh -c "! pgrep -f '^$folder/sleep'"
kill -CONT "$launcher"
status=0
wait "$launcher" || status=$?
[ "$status" -ne 0 ] || fail "a launcher that was frozen said that all was well"
nothing_left frozen

# --- A rank that fails is named, once, and its code is the launcher's.
cat >fails.sh <<'END'
[ "$RANK" -ne 3 ] || { echo "my last words"; exit 3; }
exec ./sleep 1000
END
ends_with 3 failed -- sh ./fails.sh
says failed.err "first failure: rank 3 on host node2 (node rank 1) exited with code 3"
[ "$(grep -c 'first failure' failed.err)" -eq 1 ] || fail "the failure should be told once"
nothing_left failed

# --- What is wrong before the job begins: one line that names host, line and remedy.
one_error() { # NAME: what this process says, but for the job's own lines
  [ "$(wc -l <"$folder/$1.err")" -eq 1 ] || fail "$1 should have said one line"
  nothing_left "$1"
}
printf 'node1\n\nnode9\n' >hosts
ends_with 1 unreachable --nproc 1 --ssh-options "-F $folder/ssh/config -o ConnectTimeout=2" -- "$folder/sleep" 1000
says unreachable.err "host node9 ($folder/hosts:3) cannot be reached: ssh: connect to host node9 port 2222:"
one_error unreachable
printf 'node1\nnode2\n' >hosts
ends_with 1 refused --nproc 1 --ssh-options "-F $folder/ssh/config -p 2223" -- "$folder/sleep" 1000
says refused.err "Connection refused; does sshd run there, at this port?"
one_error refused
sed "s,ssh/user,ssh/stranger," ssh/config >ssh/config_of_stranger
ends_with 1 stranger --nproc 1 --ssh-options "-F $folder/ssh/config_of_stranger" -- "$folder/sleep" 1000
says stranger.err "ssh-copy-id node2"
one_error stranger
mkdir only_here
cp sleep only_here/
on node2 mount -t tmpfs tmpfs "$folder/only_here"
ends_with 1 no_program --nproc 1 -- only_here/sleep 1000
says no_program.err "host node2 ($folder/hosts:2) cannot take part: the program only_here/sleep: No such file or directory"
one_error no_program
mkdir "$folder/only_here/deep"
cd "$folder/only_here/deep"
ends_with 1 no_folder --nproc 1 -- "$folder/sleep" 1000
says no_folder.err "host node2 ($folder/hosts:2) cannot take part: the folder $folder/only_here/deep"
one_error no_folder
cd "$folder"
on node2 mount -t tmpfs tmpfs "$(dirname "$lockstep")"
ends_with 1 no_lockstep --nproc 1 -- "$folder/sleep" 1000
says no_lockstep.err "host node2 ($folder/hosts:2) lockstep cannot be run there"
one_error no_lockstep
echo "two hosts by ssh: trained as one does, restarted after a cut connection, and left nothing behind"
