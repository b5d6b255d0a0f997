#!/usr/bin/env bash
# One session on a machine with an NVIDIA GPU: what it has, whether the code builds and passes its tests there, what
# compute-sanitizer says, how fast kernels and training are. Needs nvcc, CMake, ninja and Python; PyTorch is measured
# beside ours where it is installed. Libraries of headers that the machine lacks (Eigen, Catch2) are found through CPATH.
#
#   tests/gpu/session.sh [--budget SECONDS] [--only PHASE,PHASE...] [--out DIR]
#
# Phases: probe build tests sanitizer bench nccl train. Each is cut off at its share of the budget (600 s in all). Writes
# DIR/results.jsonl (a JSON object a line) and a log per phase; the summary comes last, on standard output and as the
# last object. Exit code: 0, 1 if a phase failed, 2 for a wrong option, 77 where there is no GPU.
# shellcheck disable=SC2317  # phases are called by name
set -uo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
readonly root
readonly all_phases='probe build tests sanitizer bench nccl train'
build=$root/build/cuda
budget=600
only=$all_phases
out=$root/build/gpu_session

say() { printf 'session.sh: %s\n' "$*" >&2; }
wrong() { say "$*"; exit 2; }

while [ $# -gt 0 ]; do
  case $1 in
    --budget) budget=${2:-}; shift 2 || wrong "--budget needs a number of seconds" ;;
    --only) only=${2:-}; only=${only//,/ }; shift 2 || wrong "--only needs names of phases: $all_phases" ;;
    --out) out=${2:-}; shift 2 || wrong "--out needs a folder" ;;
    -h | --help) sed -n '2,/^# shellcheck/{/^# shellcheck/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) wrong "unknown option $1; there are --budget, --only and --out" ;;
  esac
done
[[ $budget =~ ^[1-9][0-9]*$ ]] || wrong "--budget is '$budget'; it must be a number of seconds"
[ -n "$out" ] || wrong "--out needs a folder"
[ -n "$only" ] || wrong "--only needs names of phases: $all_phases"
for phase in $only; do
  case " $all_phases " in *" $phase "*) ;; *) wrong "there is no phase $phase; there are $all_phases" ;; esac
done

if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then
  say "no NVIDIA GPU is visible here (nvidia-smi -L lists none), so nothing was run on hardware"
  exit 77
fi
if ! command -v python3 >/dev/null; then
  say "python3 is needed, it writes the results: install it, then run this again"
  exit 1
fi

mkdir -p "$out" || wrong "cannot make the folder $out"
results=$out/results.jsonl
: >"$results"
deadline=$((SECONDS + budget))
failed=0
summary=''

# One JSON object: words alternate between keys and values; numbers and true/false stay bare.
emit() { # key value ...
  python3 - "$@" >>"$results" <<'PYTHON'
import json, sys
def typed(text):
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
words = sys.argv[1:]
print(json.dumps(dict(zip(words[::2], map(typed, words[1::2])))))
PYTHON
}

left() { echo $((deadline - SECONDS)); }

# Runs a command for at most so many seconds, and no longer than the budget lasts.
bounded() { # seconds command...
  local limit=$1
  shift
  [ "$(left)" -lt "$limit" ] && limit=$(left)
  [ "$limit" -ge 1 ] || return 124
  timeout --kill-after=5 "$limit" "$@" </dev/null
}

# Runs a phase's function with its output in a log, and notes how it ended.
run_phase() { # name
  local name=$1 begin=$SECONDS status
  case " $only " in *" $name "*) ;; *) return 0 ;; esac
  say "$name"
  "phase_$name" >"$out/$name.log" 2>&1
  status=$?
  local verdict=passed
  case $status in
    0) ;;
    77) verdict=skipped ;;
    124 | 137) verdict='out of time' ;;
    *) verdict=failed ;;
  esac
  case $verdict in passed | skipped) ;; *) failed=1 ;; esac
  emit phase "$name" event end verdict "$verdict" status "$status" seconds $((SECONDS - begin))
  summary+=$(printf '  %-10s %-12s %4d s   %s' "$name" "$verdict" $((SECONDS - begin)) "$out/$name.log")$'\n'
}

version_of() { bounded 20 "$@" 2>/dev/null | tail -n 1; }

phase_probe() {
  local gpu driver memory
  IFS=, read -r gpu driver memory < <(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader)
  emit phase probe event machine gpu "$gpu" driver "${driver# }" memory "${memory# }" \
    nvcc "$(version_of nvcc --version)" cmake "$(cmake --version 2>/dev/null | head -n 1)" \
    ninja "$(version_of ninja --version)" python "$(version_of python3 --version)" \
    torch "$(version_of python3 -c 'import torch; print(torch.__version__)')" \
    commit "$(git -C "$root" rev-parse --short HEAD 2>/dev/null)" date "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  bounded 60 nvcc -std=c++17 -O2 -arch=native "$root/tests/gpu/ceilings.cu" -lcublas -o "$out/ceilings" || return 1
  bounded 60 "$out/ceilings" >>"$results"
}

phase_build() {
  grep -q '"name": "cuda"' "$root/CMakePresets.json" || { echo "there is no preset cuda"; return 77; }
  (cd "$root" && bounded 60 cmake --preset cuda && bounded 300 cmake --build --preset cuda --target all kernels_bench nccl_bench)
}

phase_tests() {
  [ -e "$build/CTestTestfile.cmake" ] || { echo "not built"; return 77; }
  bounded 120 ctest --test-dir "$build" -L 'gpu|kernels|device' --output-on-failure --timeout 60
}

# Which of compute-sanitizer's tools is made for a class of bug; nothing for those that none of them looks for.
tool_for() { # class
  case $1 in
    race) echo racecheck ;;
    'uninitialised read') echo initcheck ;;
    'divergent barrier' | 'wrong mask') echo synccheck ;;
    'access out of bounds' | 'use after free' | 'host pointer' | 'null pointer' | 'misaligned access') echo memcheck ;;
  esac
}

# A program of the planted suite under one tool: does it find something?
sanitize() { # file tool expected
  local name is_found=false
  name=$(basename "$1" .cu)
  bounded 60 nvcc -std=c++20 -O1 -lineinfo -arch=native -I"$root/common" -o "$out/$name" "$1" || return 1
  bounded 30 compute-sanitizer --tool "$2" --error-exitcode 86 "$out/$name"
  [ $? -eq 86 ] && is_found=true
  rm -f "$out/$name"
  emit phase sanitizer program "$name" tool "$2" expected "$3" found "$is_found"
  # racecheck sees shared memory only, initcheck global memory only: a bug that stays unseen is a fact, no failure.
  [ "$3" = true ] || [ "$is_found" = false ]
}

phase_sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "there is no compute-sanitizer"; return 77; }
  local file class tool status=0
  for file in "$root"/tests/emulator/planted/bugs/*.cu "$root"/tests/emulator/planted/correct/*.cu; do
    [ "$(left)" -gt 5 ] || return 124
    class=$(sed -n 's|.*// BUG: ||p' "$file" | head -n 1)
    if [ -z "$class" ]; then
      sanitize "$file" memcheck false || status=1
      continue
    fi
    tool=$(tool_for "$class")
    [ -z "$tool" ] || sanitize "$file" "$tool" true || status=1
  done
  return "$status"
}

phase_bench() {
  local program=$build/bin/kernels_bench
  [ -x "$program" ] || { echo "there is no $program"; return 77; }
  bounded 120 "$program" --device cuda --json "$out/kernels.json" || return
  emit phase bench event results file "$out/kernels.json"
}

# Several ranks on one GPU (--share-gpu) show right results, never speed.
phase_nccl() {
  local status=0 gpus ranks share
  [ -x "$build/bin/nccl_all_reduce" ] || { echo "there is no $build/bin/nccl_all_reduce"; return 77; }
  gpus=$(nvidia-smi -L | grep -c '^GPU ')
  bounded 60 "$build/bin/nccl_bench" --json "$out/nccl.json" || status=1
  emit phase nccl event results file "$out/nccl.json"
  for ranks in 2 4; do
    share=$([ "$gpus" -lt "$ranks" ] && echo --share-gpu)
    # shellcheck disable=SC2086  # nothing, or one word
    bounded 60 "$build/bin/nccl_all_reduce" --device cuda --world-size "$ranks" --count 100003 $share || status=1
    emit phase nccl event all_reduce ranks "$ranks" shared "$([ -n "$share" ] && echo true || echo false)" failed "$status"
  done
  # Ranks that disagree: an error on both, not a hang.
  # shellcheck disable=SC2016  # expanded by each rank's shell
  bounded 60 "$build/bin/lockstep" launch --nproc 2 -- sh -c \
    '"$0" --device cuda --share-gpu --count $((1000 + RANK))' "$build/bin/nccl_all_reduce" >"$out/nccl_mismatch.log" 2>&1
  grep -q 'ranks called different collectives' "$out/nccl_mismatch.log" || { cat "$out/nccl_mismatch.log"; status=1; }
  bounded 200 env LOCKSTEP_FAULT_BACKEND=nccl LOCKSTEP_TEST_SHARE_GPU=1 "$build/tests/collective_faults_test" || status=1
  if [ "$gpus" -gt 1 ]; then
    bounded 120 "$build/bin/bus_bandwidth" --backends nccl --device cuda --world-size "$gpus" \
      --json "$out/bus_bandwidth.json" || status=1
    emit phase nccl event results file "$out/bus_bandwidth.json"
  else
    echo "one GPU: bus_bandwidth, which measures links, is not run"
  fi
  return "$status"
}

phase_train() {
  local status=0
  [ -x "$build/bin/train_gpt_single" ] || { echo "there is no $build/bin/train_gpt_single"; return 77; }
  bounded 240 python3 "$root/tests/gpu/train_beside_pytorch.py" --bin "$build/bin" --out "$out/train.json" || status=$?
  emit phase train event results file "$out/train.json"
  return "$status"
}

for phase in $all_phases; do run_phase "$phase"; done
emit phase summary event end failed "$([ $failed -eq 0 ] && echo false || echo true)" seconds "$SECONDS"
printf 'session.sh: %s\n%s  results: %s\n' "$([ $failed -eq 0 ] && echo passed || echo failed)" "$summary" "$results"
exit "$failed"
