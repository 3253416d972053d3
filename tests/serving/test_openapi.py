"""What the OpenAPI document allows, the server answers as the document says."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from asking_server import Client, loaded
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tailwright.serving.openapi import OPERATIONS, description

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
FEW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.fixture(scope="module")
def client(matcher_folder: Path) -> Client:
    return Client(loaded(matcher_folder))


@pytest.fixture(scope="module")
def described(client: Client):
    return schemathesis.openapi.from_asgi("/v1/openapi.json", client.app)


def answered_as_described(described, kinds: set[str], examples: int) -> None:
    """Ask so many requests of each kind."""
    operations = [result.ok() for result in described.get_all_operations()]
    assert kinds <= {operation.label for operation in operations}
    for operation in operations:
        if operation.label in kinds:

            @settings(max_examples=examples, suppress_health_check=FEW, database=None)
            @given(case=operation.as_strategy())
            def ask(case):
                case.call_and_validate(checks=CHECKS)

            ask()


def test_a_few_requests_are_answered_as_described(described):
    answered_as_described(described, {"POST /v1/predict", "GET /v1/labels"}, 5)


@pytest.mark.slow
def test_many_requests_of_each_kind_are_answered_as_described(described):
    own = ("get", "/v1/openapi.json")  # schemathesis does not ask for the document itself
    kinds = {(operation.method, operation.path) for operation in OPERATIONS} - {own}
    answered_as_described(described, {f"{method.upper()} {path}" for method, path in kinds}, 200)


def test_every_route_is_described_and_nothing_else(client):
    served = {
        (method.lower(), path.replace("{id:path}", "{id}"))
        for path, methods in client.app.routes()
        for method in methods - {"HEAD"}
        if path != "/" and not path.startswith("/page/")
    }
    assert served == {(operation.method, operation.path) for operation in OPERATIONS}


def test_examples_in_the_description_are_valid(client):
    schemas = description()["components"]["schemas"]
    for example in schemas["PredictBody"]["examples"]:
        body = {name: value for name, value in example.items() if name not in {"tail", "threshold"}}
        assert client.post("/v1/predict", body).status_code == 200
    for example in schemas["InferBody"]["examples"]:
        assert client.post("/v2/models/matcher/infer", example).status_code == 200
