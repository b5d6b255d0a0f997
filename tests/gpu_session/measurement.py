#!/usr/bin/env python3
"""Makes a file of docs/measurements from the archives of one machine's session.

measurement.py ARCHIVE... > docs/measurements/DATE-gpu-NAME.json

Every row has a kind: test, ceiling, operation (with PyTorch's time beside it), rung, training, algorithms or planted. A step that did
not pass has a row too, which says so.
"""
import datetime
import json
import sys
import tarfile

LADDER = "ladder_"


def steps_of(archive):
    with tarfile.open(archive) as packed:
        data = json.load(packed.extractfile("results.json"))
        made = datetime.date.fromtimestamp(packed.getmember("results.json").mtime)
    return data, made


def operations(steps):
    """Ours, with the time of PyTorch's operation of that name."""
    theirs = {row["operation"]: row["ms"] for row in steps.get("operations_of_pytorch", {}).get("rows", [])}
    for row in steps.get("operations", {}).get("rows", []):
        peer = theirs.get(row["operation"]) if row["dtype"] == "bfloat16" or row["operation"] in ("adam_step", "squared_norm") else None
        yield {"kind": "operation", **row, **({"pytorch_ms": peer, "speed_over_pytorch": round(peer / row["ms"], 3)} if peer else {})}


def rows(steps):
    for name, step in steps.items():
        outcome = {"step": name, "verdict": step["verdict"], "seconds": step["seconds"]}
        if "note" in step:
            outcome["note"] = step["note"]
        yield {"kind": "test", **outcome, **step.get("cases", {})}
    for row in steps.get("ceilings", {}).get("rows", []):
        yield {"kind": "ceiling", **row}
    yield from operations(steps)
    for name, step in steps.items():
        if name.startswith(LADDER):
            yield from ({"kind": "rung", "ladder": name.removeprefix(LADDER), **row} for row in step["rows"])
        if name.startswith(("lockstep_", "pytorch_")):
            yield from ({"kind": "training", **row} for row in step["rows"])
        if name.startswith("algorithms_"):
            yield from ({"kind": "algorithms", **row} for row in step["rows"])
    for row in steps.get("planted", {}).get("rows", []):
        yield {"kind": "planted", **row}


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    steps, machine, made = {}, {}, None
    for archive in sys.argv[1:]:
        data, made = steps_of(archive)
        machine = data["machine"] or machine
        for step in data["steps"]:  # what an earlier session has passed stays, unless it was passed again
            if step["verdict"] == "passed" or steps.get(step["name"], {}).get("verdict") != "passed":
                steps[step["name"]] = step
    machine.pop("libraries", None)
    print(json.dumps({"title": "kernels, training and checkers on one GPU", "date": made.isoformat(),
                      "command": "tests/gpu_session/carry.sh, then session.sh all on that machine", "machine": machine,
                      "rows": list(rows(steps))}, indent=1))


main()
