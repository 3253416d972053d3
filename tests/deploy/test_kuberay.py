"""The KubeRay manifest fits the operator's schema, that of Kubernetes, the command line and the image.

The schema of `RayJob` has the fields of KubeRay's API `ray.io/v1` that the manifest may use, and their types;
a field that is not there is a mistake in the manifest. Pods are checked by the package kubernetes-validate
where it is installed.
"""

from __future__ import annotations

import copy
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer.main
import yaml

from tailwright.cli import app

ROOT = Path(__file__).resolve().parent.parent.parent


def record(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": [*required], "additionalProperties": False}


TEXT, YES, COUNT = {"type": "string"}, {"type": "boolean"}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "object", "additionalProperties": TEXT}
POD = record(("spec",), metadata={"type": "object"}, spec={"type": "object"})
HEAD = record(
    ("rayStartParams", "template"), rayStartParams=TEXTS, template=POD, serviceType=TEXT, enableIngress=YES
)
WORKERS = record(
    ("groupName", "minReplicas", "maxReplicas", "rayStartParams", "template"),
    groupName=TEXT,
    replicas=COUNT,
    minReplicas=COUNT,
    maxReplicas=COUNT,
    numOfHosts=COUNT,
    rayStartParams=TEXTS,
    template=POD,
)
CLUSTER = record(
    ("headGroupSpec",),
    rayVersion=TEXT,
    headGroupSpec=HEAD,
    workerGroupSpecs={"type": "array", "items": WORKERS},
    enableInTreeAutoscaling=YES,
    suspend=YES,
)
JOB = record(
    ("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=record(("name",), name={"type": "string", "pattern": "^[a-z][a-z0-9-]{0,46}$"}, labels=TEXTS),
    spec=record(
        ("entrypoint", "rayClusterSpec"),
        entrypoint=TEXT,
        entrypointNumCpus={"type": "number"},
        shutdownAfterJobFinishes=YES,
        ttlSecondsAfterFinished=COUNT,
        activeDeadlineSeconds=COUNT,
        backoffLimit=COUNT,
        submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode"]},
        runtimeEnvYAML=TEXT,
        rayClusterSpec=CLUSTER,
    ),
)


@pytest.fixture
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "kuberay.yaml").read_text())
    return found


def pods(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = manifest["spec"]["rayClusterSpec"]
    return [group["template"]["spec"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]


def test_the_manifest_fits_the_schema_of_the_operator(manifest):
    jsonschema.validate(manifest, JOB)


@pytest.mark.parametrize("place", ["spec", "spec.rayClusterSpec", "spec.rayClusterSpec.headGroupSpec"])
def test_the_schema_refuses_a_field_that_the_operator_does_not_have(manifest, place):
    wrong = copy.deepcopy(manifest)
    inner = wrong
    for name in place.split("."):
        inner = inner[name]
    inner["replica"] = 3
    with pytest.raises(jsonschema.ValidationError, match="replica"):
        jsonschema.validate(wrong, JOB)


def test_pods_fit_the_schema_of_kubernetes(manifest):
    validate = pytest.importorskip("kubernetes_validate")
    for spec in pods(manifest):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}
        validate.validate(pod, "1.33", strict=True)


def test_the_version_of_ray_is_the_tested_one(manifest):
    tested = re.search(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert tested is not None
    assert manifest["spec"]["rayClusterSpec"]["rayVersion"] == tested[1]


def test_every_pod_has_the_volume_that_the_command_names(manifest):
    words = shlex.split(manifest["spec"]["entrypoint"])
    places = [word for word in words if word.startswith("/")]
    assert places
    for spec in pods(manifest):
        (container,) = spec["containers"]
        mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert all(any(place.startswith(f"{mount}/") for mount in mounted) for place in places)
        assert {mount["name"] for mount in container["volumeMounts"]} == {v["name"] for v in spec["volumes"]}


def test_the_command_takes_its_words(manifest):
    program, name, *words = shlex.split(manifest["spec"]["entrypoint"])
    assert program == "tailwright"
    asked = typer.main.get_command(app).commands[name].make_context(name, words).params
    assert asked["on"] == "ray"
