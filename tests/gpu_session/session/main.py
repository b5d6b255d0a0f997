"""Runs one phase of the GPU session; session.sh documents it."""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import libraries
import phases
import plan
import results
from runner import Runner

PLANNED_SECONDS = 570  # of a phase
USAGE = pathlib.Path(__file__).resolve().parents[1] / "session.sh"


def say(text):
    print(f"session.sh: {text}", file=sys.stderr, flush=True)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        say(f"{message}; session.sh --help tells more")
        sys.exit(2)


def parse_options():
    parser = Parser(prog="session.sh", add_help=False)
    parser.add_argument("phase", nargs="?", metavar="PHASE")
    parser.add_argument("--budget", type=float, default=PLANNED_SECONDS)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu_results"))
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    options = parser.parse_args()
    if options.help:
        print("\n".join(re.findall(r"^#(?!!) ?(.*)$", USAGE.read_text(encoding="utf-8"), re.MULTILINE)))
        sys.exit(0)
    known = [*phases.PHASES, "all", "plan"]
    if options.phase not in known:
        parser.error(f"there is no phase {options.phase or '(none named)'}; there are {', '.join(known)}")
    if options.budget < 10:
        parser.error(f"a budget of {options.budget:g} s is too short; 10 is the least")
    return parser, options


def gpu_names():
    """From lines such as "GPU 0: NVIDIA H200 (UUID: GPU-...)"."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^GPU \d+: (.*?)(?: \(UUID.*)?$", done.stdout, re.MULTILINE)


def unpacked(here):
    """The folder of the carried programs: `here`, or what programs.tar.xz holds, unpacked once for each machine."""
    archive = here / "programs.tar.xz"
    if not archive.exists():
        return here
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    folder = pathlib.Path(tempfile.gettempdir()) / f"lockstep_gpu_{os.getuid()}_{digest}"
    if not (folder / "CARRIED").exists():  # it comes into its place as a whole
        new = pathlib.Path(tempfile.mkdtemp(prefix="lockstep_gpu_"))
        try:
            unpack(archive, new)
            if not (folder / "CARRIED").exists():  # else another session has been faster
                shutil.rmtree(folder, ignore_errors=True)
                new.rename(folder)
        except Exception as error:  # also lzma's own, a module that a Python may lack
            say(f"{archive} cannot be unpacked into {new} ({error}): is it a whole copy, and is there room?")
            sys.exit(1)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder


def unpack(archive, folder):
    try:
        with tarfile.open(archive) as packed:
            results.extract(packed, folder)
    except tarfile.ReadError:  # a Python without lzma
        subprocess.run(["tar", "-xJf", archive, "-C", folder], check=True)


def main():
    begin = time.monotonic()
    parser, options = parse_options()
    gpu_models = gpu_names()
    gpus = len(gpu_models)
    if options.phase == "plan":
        print(plan.text(plan.steps(unpacked(USAGE.parent), gpus)))
        return 0
    if gpus == 0 and not options.rehearse:
        say("no NVIDIA GPU is visible here (nvidia-smi -L lists none), so nothing was run on hardware")
        return 77
    carried = unpacked(USAGE.parent)
    if not (carried / "bin" / "ladder").exists():
        say(f"{carried} holds no programs: tests/gpu_session/carry.sh makes a folder that does, and session.sh runs from there")
        return 1
    found = libraries.find()
    if found.missing:
        say(found.message())
        return 1
    is_whole = options.phase == "all"
    steps = plan.steps(carried, gpus) if is_whole else phases.PHASES[options.phase](carried, gpus)
    names = [step.name for step in steps]
    only = [name for name in options.only.split(",") if name]
    for name in only:
        if name not in names:
            parser.error(f"phase {options.phase} has no step {name}; it has {', '.join(names)}")
    found_out = results.Results(options.out, options.phase, keep=not options.again)
    measured_on = (found_out.data["machine"].get("gpu") or "").split(",")[0]
    if measured_on and gpu_models and measured_on not in gpu_models:
        parser.error(f"{options.out} has results of {measured_on}, and this machine has {gpu_models[0]}: name another folder")
    # A machine to rehearse on may be slow; one step alone may take what there is.
    if is_whole:
        share = 1.0  # what does not fit is for the next call
    elif only or options.rehearse:
        share = 10.0
    else:
        share = min(1.0, options.budget / PLANNED_SECONDS)
    runner = Runner(carried, found_out, found, begin + options.budget, options.rehearse, share)
    runner.run_all([step for step in steps if not only or step.name in only], side_by_side=is_whole)
    print(found_out.summary(), flush=True)
    return found_out.exit_status(only or names)


if __name__ == "__main__":
    sys.exit(main())
