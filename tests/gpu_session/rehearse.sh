#!/usr/bin/env bash
# Runs all phases of session.sh in a bare Debian without a GPU and without any of our packages: does each step come as far
# as the missing device? Stand-ins take the place of NVIDIA's tools; CUDA's libraries and nvcc are this machine's.
# Needs root, debootstrap, iproute2, nvcc, and the folder that carry.sh made.
#
#   tests/gpu_session/rehearse.sh [PHASE...]     # all of them
#
# The base system is made once, in the user's cache folder. Exit status: 0 if all phases passed.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
carried=$root/build/gpu_carried
results=$root/build/gpu_rehearsal
cuda=$(readlink -f /usr/local/cuda)
base=${XDG_CACHE_HOME:-$HOME/.cache}/lockstep/bare
phases=("$@")
[ $# -gt 0 ] || phases=(A B C D E)

die() { printf 'rehearse.sh: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "needs root, for chroot"
[ -x "$carried/session.sh" ] || die "tests/gpu_session/carry.sh first: there is no $carried"
[ -x "$cuda/bin/nvcc" ] || die "there is no CUDA toolkit in /usr/local/cuda"
command -v debootstrap >/dev/null || die "install debootstrap first"
command -v ip >/dev/null || die "install iproute2 first: the ranks need a loopback interface"

if [ ! -e "$base/.done" ]; then
  rm -rf "$base"
  mkdir -p "$base"
  mirror=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
    sed -n 's/^URIs: *//p; s/^deb  *\([^ ]*debian\) .*/\1/p' | head -n 1)
  # What the machine to come has too: Python, and the compiler that nvcc calls.
  debootstrap --variant=minbase --include=python3,g++ trixie "$base" "$mirror" >"$base.log" 2>&1 ||
    { tail -n 5 "$base.log" >&2; die "debootstrap failed"; }
  : >"$base/.done"
fi

# A file system of its own over the base, gone afterwards; mounts live in a mount namespace of this command alone.
mkdir -p "$results"
inside() {
  set -euo pipefail
  local top
  top=$(mktemp -d)
  mount -t tmpfs tmpfs "$top"
  mkdir -p "$top"/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/root"
  cd "$top/root"
  mkdir -p carried results usr/local/cuda
  mount -t proc proc proc
  mount --rbind /dev dev
  mount --bind "$carried" carried
  mount -o remount,ro,bind carried
  mount --bind "$results" results
  mount --bind "$cuda" usr/local/cuda
  mount -o remount,ro,bind usr/local/cuda
  # NVIDIA's tools: the checker and the profiler run the program that they are given.
  cat >usr/local/bin/run_last <<'TOOL'
#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --tool | --error-exitcode | --report-api-errors | --kernel-name | --clock-control | --profile-from-start | --set) shift 2 ;;
    --version) echo "a stand-in"; exit 0 ;;
    -*) echo "no such option: $1"; exit 2 ;;
    *) exec "$@" ;;
  esac
done
TOOL
  chmod +x usr/local/bin/run_last
  ln -s run_last usr/local/bin/compute-sanitizer
  ln -s run_last usr/local/bin/ncu
  ip link set lo up  # the only network there is; ranks meet on it
  local phase status=0
  for phase in "$@"; do
    chroot . /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/local/cuda/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      /carried/session.sh "$phase" --rehearse --again --budget 3000 --out /results || status=1
  done
  return "$status"
}
export -f inside
export base carried results cuda
exec unshare --mount --net --pid --fork --kill-child bash -c 'inside "$@"' rehearse.sh "${phases[@]}"
