#!/usr/bin/env python3
"""All-reduce between processes of this machine: ours beside Open MPI and Gloo, interleaved in one run.

Prints one table; --out writes it as JSON. Peers that are not installed are named and left out:
apt-get install openmpi-bin libopenmpi-dev python3-torch.
"""
import argparse
import os
import shutil
import tempfile

from bench_common import BIN, HERE, end, free_port, has_torch, median, note_failure, run, run_python_ranks, write_record

OURS = ["tcp", "private", "registered", "star"]
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1}


def rows_of(text):
    rows = []
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) == 4 and fields[2].isdigit():
            rows.append((fields[0], int(fields[1]), int(fields[2]), float(fields[3])))
    return rows


def systems(build_folder):
    """Name -> function(world_size) that prints CSV rows."""
    bench = os.path.join(BIN, "all_reduce_bench")
    launch = os.path.join(BIN, "lockstep")

    def ours(system):
        return lambda n: run([launch, "launch", "--no-prefix", "--nproc", str(n), "--", bench, system])

    found = {system: ours(system) for system in OURS}
    # Registered memory that each rank fills anew before every call, as a training step does: not timed, but no chunk
    # is then in the cache of the rank that reduces it.
    rewritten = [launch, "launch", "--no-prefix", "--nproc"]
    found["rewritten"] = lambda n: run([*rewritten, str(n), "--", os.path.join(BIN, "shared_memory_bench"), "rewritten"])
    if shutil.which("mpicxx.openmpi") and shutil.which("mpirun.openmpi"):
        program = os.path.join(build_folder, "mpi_all_reduce")
        source = os.path.join(HERE, "peers", "mpi_all_reduce.cpp")
        run(["mpicxx.openmpi", "-O3", source, "-o", program])
        mpirun = ["mpirun.openmpi", "--oversubscribe", "-np"]
        tcp = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
        found["mpi"] = lambda n: run([*mpirun, str(n), program, "Open MPI"], **MPI)
        found["mpi_tcp"] = lambda n: run([*mpirun, str(n), *tcp, program, "Open MPI tcp"], **MPI)
    else:
        print("Open MPI is not installed: left out")
    if has_torch():
        script = os.path.join(HERE, "peers", "gloo_all_reduce.py")
        found["gloo"] = lambda n: run_python_ranks(script, n, free_port(), [], OMP_NUM_THREADS=1)
    else:
        print("PyTorch (Gloo) is not installed: left out")
    return found


def print_table(rows):
    print("\nThe last columns: how many times as fast as this row's system ours is.")
    print(f"{'world':>5} {'bytes':>9}  {'system':<20} {'us':>10} {'busbw GB/s':>10} {'tcp':>6} {'private':>7} {'registered':>10}")
    for row in rows:
        speed = {name: "" if value is None else f"{value:.2f}" for name, value in row["speed_over_this"].items()}
        print(
            f"{row['world_size']:>5} {row['bytes']:>9}  {row['system']:<20} {row['microseconds']:>10.1f} "
            f"{row['bus_bandwidth_gb_s']:>10.3f} {speed['tcp']:>6} {speed['private']:>7} {speed['registered']:>10}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world-sizes", default="2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        found = systems(folder)
        for world_size in map(int, arguments.world_sizes.split(",")):
            for _ in range(arguments.rounds):
                for name, start in found.items():
                    measured = rows_of(start(world_size))
                    if not measured:
                        note_failure(f"{name}, {world_size} ranks")
                    for system, n, size, microseconds in measured:
                        times.setdefault((n, size, system), []).append(microseconds)
    rows = []
    for (n, size, system), values in sorted(times.items()):
        microseconds = median(values)
        ours = {name: median(times.get((n, size, f"lockstep {name}"), [])) for name in OURS[:3]}
        rows.append(
            {
                "world_size": n,
                "bytes": size,
                "system": system,
                "microseconds": microseconds,
                "bus_bandwidth_gb_s": size / microseconds * 1e-3 * 2 * (n - 1) / n,
                "speed_over_this": {name: microseconds / own if own else None for name, own in ours.items()},
            }
        )
    print_table(rows)
    if arguments.out:
        write_record(arguments.out, "all_reduce, float32 sum, in place, processes of one machine", rows)
    end()


main()
