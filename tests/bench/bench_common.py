"""What the benchmark drivers share: the machine's description, running a job, medians, the JSON record."""
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Has PyTorch: Debian's, or the command that the variable holds (another Debian's: "chroot FOLDER /usr/bin/python3").
PYTHON = shlex.split(os.environ.get("PYTHON", "/usr/bin/python3"))
BIN = os.path.join(os.environ.get("LOCKSTEP_BUILD", os.path.join(ROOT, "build", "cpu")), "bin")


def clean_environment(**extra):
    """The environment without presets that handicap a peer (a Haswell preset turns OpenBLAS's AVX-512 kernels off)."""
    environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    environment.update({k: str(v) for k, v in extra.items()})
    return environment


def run(command, timeout=900, **extra):
    """Standard output of a command; an empty string and a line on standard error where it failed."""
    try:
        done = subprocess.run(
            command, env=clean_environment(**extra), capture_output=True, text=True, timeout=timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"bench: {command[0]}: {error}", file=sys.stderr)
        return ""
    if done.returncode != 0:
        print(f"bench: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-400:]}", file=sys.stderr)
        return ""
    return done.stdout


PEAK_OF_CHILDREN = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(status)
"""


def peak_mib_of(command, timeout=900, **extra):
    """Runs a command; the resident memory of its largest process (a rank, for a launcher) in MiB, or None."""
    text = run([sys.executable, "-c", PEAK_OF_CHILDREN, *command], timeout, **extra)
    return float(text) if text else None


def run_python_ranks(script, world_size, port, arguments, timeout=900, **extra):
    """Starts `script` once per rank with torchrun's variables; rank 0's standard output."""
    ranks = []
    for rank in range(world_size):
        environment = clean_environment(
            RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=world_size, MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
            USE_LIBUV=0, **extra,  # Debian's PyTorch 2 is built without libuv, and asks for it all the same
        )
        output = subprocess.PIPE if rank == 0 else subprocess.DEVNULL
        ranks.append(
            subprocess.Popen(
                [*PYTHON, script, *arguments], env=environment, stdout=output, stderr=subprocess.DEVNULL, text=True
            )
        )
    try:
        text, _ = ranks[0].communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        text = ""
    for process in ranks:
        process.kill()
        process.wait()
    return text


def has_torch():
    command = [*PYTHON, "-c", "import torch"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


# PyTorch as it is installed, and from 2.0 on with fused attention and AdamW: options of peers/torch_gpt.py.
TORCH_SYSTEMS = {"PyTorch": [], "PyTorch fast": ["--fast"]}


def torch_version():
    """Such as 2.6.0; empty where it is not installed."""
    return run([*PYTHON, "-c", "import torch; print(torch.__version__)"]).strip() if has_torch() else ""


def torch_systems(version):
    """Which of TORCH_SYSTEMS this version has."""
    if not version:
        return []
    return list(TORCH_SYSTEMS) if int(version.split(".")[0]) >= 2 else ["PyTorch"]


FAILURES = []


def note_failure(what):
    """A measurement that failed. The others are kept; end() names it again."""
    if what not in FAILURES:
        FAILURES.append(what)
        print(f"bench: failed: {what}", file=sys.stderr)


def end():
    """Ends the program, with 1 if a measurement failed."""
    if FAILURES:
        sys.exit("bench: these failed (why is above):\n  " + "\n  ".join(FAILURES))
    sys.exit(0)


def machine():
    model = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"processor": model, "cores": os.cpu_count(), "kernel": platform.release()}


def median(values):
    return statistics.median(values) if values else None


def write_record(path, title, rows, **more):
    """Writes a measurement with everything needed to repeat it; `more` are fields that are no rows."""
    record = {
        "title": title,
        "date": datetime.date.today().isoformat(),
        "command": "lockstep bench " + " ".join([os.path.splitext(os.path.basename(sys.argv[0]))[0], *sys.argv[1:]]),
        "machine": machine(),
        **more,
        **({"failed": FAILURES} if FAILURES else {}),
        "rows": rows,
    }
    with open(path, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")
    print(f"written: {path}")


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
