#!/usr/bin/env bash
# One phase of the work on a machine with an NVIDIA GPU, from the folder that carry.sh made. Needs python3 and the CUDA
# libraries, of a toolkit or of PyTorch's wheels; nothing is installed and nothing fetched.
#
#   session.sh PHASE [--budget SECONDS] [--out DIR] [--only STEP,STEP...] [--again] [--rehearse]
#
# Phases, each useful alone and done within its budget (570 s unless told):
#   A  what is there and whether it is right: ceilings, all tests of devices and kernels, ten steps of GPT-2 124M,
#      compute-sanitizer on our kernels
#   B  how fast: every ladder, every operation beside the ceilings, Nsight Compute on the four that cost most
#   C  training beside PyTorch
#   D  NCCL with 2 and 4 ranks on this one GPU: right results, never speed
#   E  the planted bugs of tests/gpu/emulator/planted under compute-sanitizer
#   all   every step of A to E in the order of its worth: first right answers, several steps at once, then times, then
#         checkers. Started again with the same DIR, also on another machine with such a GPU, it goes on where the budget
#         ended.
#   plan  prints that order, cut into calls of 540 s; runs nothing
# Writes DIR/session_PHASE.tar.gz (results.json and a log for each step), renewed after each step. Started again with the
# same DIR, it does what has not passed yet; --again does all. A step that hangs is ended at its own limit.
# --rehearse: on a machine without a GPU, whether each step comes as far as the missing device.
# Exit status: 0 all passed, 1 not all, 2 a wrong option, 3 some were skipped and all others passed (the summary says
# why: no ncu, say, or one GPU where two are needed), 77 no GPU, or all steps were skipped.
set -u
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if ! command -v python3 >/dev/null; then
  echo "session.sh: python3 is needed: install it, then run this again" >&2
  exit 1
fi
exec python3 -B "$here/session/main.py" "$@"
