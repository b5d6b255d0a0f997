#!/usr/bin/env python3
"""Registers, spills and shared memory of every device kernel, as nvcc's `-Xptxas -v` tells them.

    ptxas_table.py                 compares with the committed table; a kernel that spills more, or uses another amount
                                   of static shared memory, or eight registers more, is an error
    ptxas_table.py --write DATE    writes the table docs/measurements/ptxas.json

Another release of nvcc may allot registers differently: then only missing and new kernels are errors.
Exit status: 0 agrees, 1 not, 77 there is no nvcc or no table.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/measurements/ptxas.json"
ARCHITECTURES = ["sm_80", "sm_90"]
FLAGS = ["-std=c++20", "-DLOCKSTEP_KERNEL_NAMESPACE=plain", "-Icommon", "-Xptxas", "-v"]
MORE_REGISTERS = 8
ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def find_nvcc():
    return shutil.which("nvcc") or next((path for path in ["/usr/local/cuda/bin/nvcc"] if os.access(path, os.X_OK)), None)


def short_name(mangled):
    """The kernel's name and template arguments, without namespaces and parameters."""
    name = subprocess.run(["c++filt", mangled], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    name = re.sub(r"lockstep::|kernels::|cuda::|plain::|\(anonymous namespace\)::|_GLOBAL__N__\w+::", "", name)
    name = re.sub(r"^void ", "", name)
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and at > 0:
            return name[:at]
    return name


def rows_of(source, text):
    rows, row = [], None
    for line in text.splitlines():
        if match := ENTRY.search(line):
            row = {"source": source, "kernel": short_name(match[1]), "architecture": match[2], "static_shared_bytes": 0}
            rows.append(row)
        elif row and (match := SPILLS.search(line)):
            row.update(stack_bytes=int(match[1]), spill_store_bytes=int(match[2]), spill_load_bytes=int(match[3]))
        elif row and (match := USED.search(line)):
            shared = SHARED.search(line)
            row.update(registers=int(match[1]), static_shared_bytes=int(shared[1]) if shared else 0)
    return rows


def compile_all(nvcc):
    targets = [part for name in ARCHITECTURES for part in
               ("-gencode", f"arch=compute_{name[3:]},code={name}")]
    rows = []
    for source in sorted((ROOT / "common/kernels/cuda").glob("*.cu")):
        command = [nvcc, *FLAGS, *targets, "-c", str(source), "-o", os.devnull]
        run = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if run.returncode != 0:
            sys.exit(f"ptxas_table.py: {source.name} does not compile:\n{run.stdout}")
        rows += rows_of(source.name, run.stdout)
    return sorted(rows, key=lambda row: (row["source"], row["kernel"], row["architecture"]))


def release_of(nvcc):
    text = subprocess.run([nvcc, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.search(r"release [\d.]+, V([\d.]+)", text)[1]


def write(nvcc, date):
    rows = compile_all(nvcc)
    head = {"title": "registers, spills and static shared memory of the device kernels", "date": date,
            "command": f"python3 tests/kernels/ptxas_table.py --write {date}", "nvcc": release_of(nvcc)}
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    TABLE.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")
    print(f"{len(rows)} rows in {TABLE.relative_to(ROOT)}")


def differences(nvcc, table):
    def keyed(rows):
        return {(row["source"], row["kernel"], row["architecture"]): row for row in rows}

    before, after = keyed(table["rows"]), keyed(compile_all(nvcc))
    found = [f"{'missing' if key in before else 'new'}: {key}" for key in sorted(before.keys() ^ after.keys())]
    if release_of(nvcc) != table["nvcc"]:
        return found
    for key in sorted(before.keys() & after.keys()):
        old, new = before[key], after[key]
        if (new["spill_store_bytes"] > old["spill_store_bytes"] or new["registers"] > old["registers"] + MORE_REGISTERS
                or new["static_shared_bytes"] != old["static_shared_bytes"]):
            found.append(f"changed: {key}: {old} -> {new}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="DATE")
    options = parser.parse_args()
    nvcc = find_nvcc()
    if nvcc is None:
        print("skipped: no nvcc")
        return 77
    if options.write:
        write(nvcc, options.write)
        return 0
    if not TABLE.exists():
        print(f"skipped: there is no {TABLE.relative_to(ROOT)}; --write makes it")
        return 77
    found = differences(nvcc, json.loads(TABLE.read_text()))
    print("\n".join(found) if found else "as committed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
