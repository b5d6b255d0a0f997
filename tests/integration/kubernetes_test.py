"""kubernetes_test.py JOB_YAML: checks docs/clusters/job.yaml as far as that goes without a cluster.

- Every field has a name that the Kubernetes API knows, a value of its type, and none that is required is missing. The
  API's types are those of Debian's python3-kubernetes (generated from the API's own description); what is newer than
  them is listed in NEWER with its source.
- What the API does not check, but the job needs: the parts refer to each other by the right names, and the environment
  names as many ranks as there are pods.
- The shell script inside is one that sh accepts.

Exit status 77 (skipped) where PyYAML or python3-kubernetes is not installed.
"""

import re
import subprocess
import sys

try:
    import yaml
    from kubernetes import client
except ImportError as error:
    print(f"{error} (Debian: python3-yaml python3-kubernetes): skipped")
    sys.exit(77)

KINDS = {
    ("v1", "Service"): client.V1Service,
    ("v1", "PersistentVolumeClaim"): client.V1PersistentVolumeClaim,
    ("batch/v1", "Job"): client.V1Job,
}

# Fields that version 22 of the package, of Kubernetes 1.22, does not have: the Kubernetes API reference, "Job v1",
# PodFailurePolicy (stable since 1.31). A dict: the fields, with types; a list: a list of such.
NEWER = {
    ("V1JobSpec", "podFailurePolicy"): {
        "rules": [
            {
                "action": str,
                "onExitCodes": {"containerName": str, "operator": str, "values": [int]},
                "onPodConditions": [{"type": str, "status": str}],
            }
        ]
    }
}

PLAIN = {"str": str, "int": int, "bool": bool, "object": object}


def fail(where, what):
    sys.exit(f"{where}: {what}")


def check_shape(value, shape, where):
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            fail(where, "is not a mapping")
        for name, inner in value.items():
            if name not in shape:
                fail(f"{where}.{name}", "is no field of the API")
            check_shape(inner, shape[name], f"{where}.{name}")
    elif isinstance(shape, list):
        for number, inner in enumerate(value):
            check_shape(inner, shape[0], f"{where}[{number}]")
    elif not isinstance(value, shape):
        fail(where, f"is {value!r}, which is not of type {shape.__name__}")


def check_typed(value, type_name, where):
    """Against a type as the package writes it: "list[V1Container]", "dict(str, str)", "V1PodSpec", "int"."""
    if inner := re.fullmatch(r"list\[(.*)\]", type_name):
        if not isinstance(value, list):
            fail(where, "is not a list")
        for number, each in enumerate(value):
            check_typed(each, inner[1], f"{where}[{number}]")
    elif inner := re.fullmatch(r"dict\(str, (.*)\)", type_name):
        if not isinstance(value, dict):
            fail(where, "is not a mapping")
        for name, each in value.items():
            check_typed(each, inner[1], f"{where}.{name}")
    elif type_name in PLAIN:
        is_number_for_bool = type_name == "int" and isinstance(value, bool)
        if not isinstance(value, PLAIN[type_name]) or is_number_for_bool:
            fail(where, f"is {value!r}, which is not of type {type_name}")
    else:
        check_object(value, getattr(client, type_name), where)


def check_object(value, model, where):
    if not isinstance(value, dict):
        fail(where, "is not a mapping")
    attributes = {name: attribute for attribute, name in model.attribute_map.items()}
    known = {}
    for name, inner in value.items():
        if newer := NEWER.get((model.__name__, name)):
            check_shape(inner, newer, f"{where}.{name}")
        elif name not in attributes:
            fail(f"{where}.{name}", f"is no field of {model.__name__}")
        else:
            check_typed(inner, model.openapi_types[attributes[name]], f"{where}.{name}")
            known[attributes[name]] = inner
    try:
        model(**known)  # refuses to be without what is required
    except ValueError as error:
        fail(where, error)


def check_references(service, claim, job):
    pod = job["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    port = int(environment["MASTER_PORT"])
    conditions = {
        "the Service selects the pods": service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(),
        "the Service is headless": service["spec"]["clusterIP"] == "None",
        "the pods' subdomain is the Service": pod["spec"]["subdomain"] == service["metadata"]["name"],
        "MASTER_ADDR is pod 0": environment["MASTER_ADDR"]
        == f"{job['metadata']['name']}-0.{service['metadata']['name']}",
        "MASTER_PORT is a port that needs no privilege": 1024 <= port < 32768,
        "one pod for each rank": int(environment["WORLD_SIZE"]) == job["spec"]["completions"],
        "all pods at once": job["spec"]["parallelism"] == job["spec"]["completions"],
        "each pod has a number": job["spec"]["completionMode"] == "Indexed",
        "a policy for failures needs pods that do not restart": pod["spec"]["restartPolicy"] == "Never",
        "the policy names the container": all(
            rule["onExitCodes"]["containerName"] == container["name"]
            for rule in job["spec"]["podFailurePolicy"]["rules"]
            if "onExitCodes" in rule
        ),
        "the claim is the one that pods mount": [
            volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"]["volumes"]
        ]
        == [claim["metadata"]["name"]],
        "volumes that are mounted are there": {mount["name"] for mount in container["volumeMounts"]}
        == {volume["name"] for volume in pod["spec"]["volumes"]},
    }
    for condition, holds in conditions.items():
        if not holds:
            fail("job.yaml", f"it should hold that {condition}")
    subprocess.run(["sh", "-n", "-c", container["command"][2]], check=True)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    kinds = {}
    for document in documents:
        kind = (document.get("apiVersion"), document.get("kind"))
        if kind not in KINDS:
            fail("job.yaml", f"{kind} is no kind that this test knows")
        check_object(document, KINDS[kind], kind[1])
        kinds[kind[1]] = document
    check_references(kinds["Service"], kinds["PersistentVolumeClaim"], kinds["Job"])
    print(f"{len(documents)} objects: fields, types and references are right")


main()
