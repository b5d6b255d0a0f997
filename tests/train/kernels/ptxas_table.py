#!/usr/bin/env python3
"""Registers, spills and shared memory of every device kernel, as nvcc's `-Xptxas -v` tells them.

    ptxas_table.py                 compares with the committed table, docs/measurements/ptxas.json: any difference is an error
    ptxas_table.py --write DATE    writes the table

Another release of nvcc may allot registers differently: then only missing and new kernels are errors.
Exit status: 0 agrees, 1 not, 77 there is no nvcc.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "docs/measurements/ptxas.json"
SOURCES = [("common/train/kernels/cuda/*.cu", ["sm_80", "sm_90"]),
           ("chapters/04_kernels/ladders/tensor_cores/whole_tiles.cu", ["sm_90a"])]
FLAGS = ["-std=c++20", "-DLOCKSTEP_KERNEL_NAMESPACE=plain", *(f"-Icommon{wing}" for wing in ("", "/gpu", "/ranks", "/train")), "-Xptxas", "-v", "-cubin"]
KEY = ("source", "kernel", "architecture")
ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def find_nvcc():
    return shutil.which("nvcc") or next((path for path in ["/usr/local/cuda/bin/nvcc"] if os.access(path, os.X_OK)), None)


def short_name(mangled):
    """The kernel's name and template arguments, without namespaces and parameters."""
    name = subprocess.run(["c++filt", mangled], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    name = re.sub(r"lockstep::|kernels::|cuda::|ladders::|tensor_cores::|plain::|\(anonymous namespace\)::|_GLOBAL__N__\w+::", "", name)
    name = re.sub(r"^void ", "", name)
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and at > 0:
            return name[:at]
    return name


def key_of(row):
    return tuple(row[name] for name in KEY)


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
    rows = []
    for pattern, architectures in SOURCES:
        for source in sorted(ROOT.glob(pattern)):
            for architecture in architectures:  # one at a time: -cubin leaves out what the host runs, most of the time
                rows += compile_one(nvcc, source, architecture)
    return sorted(rows, key=key_of)


def compile_one(nvcc, source, architecture):
    command = [nvcc, *FLAGS, f"-arch={architecture}", str(source.relative_to(ROOT)), "-o", os.devnull]
    run = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode != 0:
        sys.exit(f"ptxas_table.py: {source.name} does not compile for {architecture}:\n{run.stdout}")
    return rows_of(source.name, run.stdout)


def release_of(nvcc):
    text = subprocess.run([nvcc, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.search(r"release [\d.]+, V([\d.]+)", text)[1]


def write(nvcc, date):
    rows = compile_all(nvcc)
    head = {"title": "registers, spills and static shared memory of the device kernels", "date": date,
            "command": f"python3 tests/train/kernels/ptxas_table.py --write {date}", "nvcc": release_of(nvcc)}
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    TABLE.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")
    print(f"{len(rows)} rows in {TABLE.relative_to(ROOT)}")


def differences(nvcc, table):
    committed, found = ({key_of(row): row for row in rows} for rows in (table["rows"], compile_all(nvcc)))
    lines = [f"{' '.join(key)}: {'is gone' if key in committed else 'is not in the table'}"
             for key in sorted(committed.keys() ^ found.keys())]
    if release_of(nvcc) != table["nvcc"]:
        return lines
    for key in sorted(committed.keys() & found.keys()):
        fields = [f"{name} {committed[key].get(name)} -> {value}" for name, value in found[key].items()
                  if committed[key].get(name) != value]
        if fields:
            lines.append(f"{' '.join(key)}: {', '.join(fields)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="DATE")
    options = parser.parse_args()
    nvcc = find_nvcc()
    if nvcc is None:
        print("skipped: there is no nvcc, neither in PATH nor in /usr/local/cuda/bin")
        return 77
    if options.write:
        write(nvcc, options.write)
        return 0
    lines = differences(nvcc, json.loads(TABLE.read_text()))
    if lines:
        print(f"{TABLE.relative_to(ROOT)} does not say what nvcc {release_of(nvcc)} says (table -> found):", *lines,
              "If that is meant, and no kernel spills that did not: python3 tests/train/kernels/ptxas_table.py --write "
              "$(date -u +%F)", sep="\n")
        return 1
    print("as committed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
