"""What every request passes: ids, keys, origins, headers, logs, metrics, health."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from asking_server import Client, loaded, settings_of

from tailwright.serving.service import Service

PREDICT = {"text": "apple", "k": 1}


@pytest.fixture(scope="module")
def client(matcher_folder: Path) -> Client:
    return Client(loaded(matcher_folder))


def with_settings(client: Client, **settings) -> Client:
    """The same runs behind another door."""
    service = Service(settings_of("matcher=nowhere", **settings))
    service.hosts = client.service.hosts
    return Client(service)


@pytest.mark.parametrize("given", ["a", "req-1.2:3/4+5=6@7~8_9", "x" * 128])
def test_a_harmless_request_id_is_kept(client, given):
    assert client.get("/health/live", headers={"X-Request-Id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", 'a"b', "<b>", "a;b"])
def test_another_request_id_is_replaced(client, given):
    told = client.get("/health/live", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", told)


def test_every_answer_has_the_headers_that_keep_it_safe(client):
    for path in ("/v1/models", "/nowhere", "/health/live", "/metrics"):
        headers = client.get(path).headers
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert client.get("/").headers["content-security-policy"]


def test_ready_is_apart_from_live(client):
    loading = with_settings(client)
    loading.service.hosts = {}
    assert loading.get("/health/live").json() == {"live": True}
    for path in ("/health/ready", "/v1/models", "/annif/v1/projects"):
        response = loading.get(path)
        assert (response.status_code, response.json()["error"]["code"]) == (503, "not_ready")
    assert loading.post("/v1/predict", PREDICT).status_code == 503
    stopping = with_settings(client)
    assert stopping.get("/health/ready").json() == {"ready": True}
    stopping.service.stopping = True
    assert stopping.get("/health/ready").status_code == 503
    assert stopping.get("/v2/health/ready").status_code == 503
    answered = stopping.post("/v1/predict", PREDICT)  # what was accepted is answered
    assert (answered.status_code, answered.headers["connection"]) == (200, "close")


def test_keys_open_all_but_health_and_page(client):
    closed = with_settings(client, keys=("first", "second"))
    for headers in (
        {},
        {"X-API-Key": "third"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic first"},
    ):
        response = closed.post("/v1/predict", PREDICT, headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
    for headers in ({"X-API-Key": "second"}, {"Authorization": "Bearer first"}):
        assert closed.post("/v1/predict", PREDICT, headers=headers).status_code == 200
    assert closed.get("/v2").json().keys() == {"error"}
    status = {
        path: closed.get(path).status_code for path in ("/health/live", "/health/ready", "/", "/metrics")
    }
    assert status == {"/health/live": 200, "/health/ready": 200, "/": 200, "/metrics": 401}
    assert with_settings(client, keys=("a",), open_metrics=True).get("/metrics").status_code == 200


def test_pages_of_other_sites_may_ask_only_if_they_are_named(client):
    asks = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    from asking_server import asked

    def preflight(of: Client):
        return asked(of.app, "OPTIONS", "/v1/predict", headers=asks)

    assert preflight(client).status_code == 405
    assert "access-control-allow-origin" not in client.get("/v1/models", headers=asks).headers
    named = with_settings(client, cors=("https://shop.example",), keys=("k",))
    answer = preflight(named)  # browsers send no key here
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, asks["Origin"])
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert named.get("/health/live", headers=asks).headers["access-control-allow-origin"] == asks["Origin"]
    other = with_settings(client, cors=("https://other.example",))
    assert preflight(other).status_code == 405
    assert "access-control-allow-origin" not in other.get("/v1/models", headers=asks).headers


def test_a_request_is_a_line_of_json_without_its_texts_unless_asked(client, capsys):
    quiet, told = (with_settings(client, log_requests=True, log_texts=texts) for texts in (False, True))
    quiet.post("/v1/predict", {"texts": ["apple", "secret"]}, headers={"X-Request-Id": "seven"})
    printed = capsys.readouterr().err
    line = json.loads(printed)
    assert "secret" not in printed
    assert {name: line[name] for name in ("request_id", "route", "status", "texts", "batch")} == {
        "request_id": "seven",
        "route": "/v1/predict",
        "status": 200,
        "texts": 2,
        "batch": 2,
    }
    assert line["ms"] > 0
    told.post("/v1/predict", {"text": "secret"})
    assert json.loads(capsys.readouterr().err)["text"] == ["secret"]


def test_metrics_count_requests_by_route_and_status(client):
    counted = with_settings(client)
    counted.post("/v1/predict", PREDICT)
    counted.post("/v1/predict", {})
    counted.get("/v1/labels/0")
    counted.get("/secret/path")
    lines = counted.get("/metrics").text.splitlines()
    for line in (
        'tailwright_requests_total{route="/v1/predict",status="200"} 1.0',
        'tailwright_requests_total{route="/v1/predict",status="422"} 1.0',
        'tailwright_requests_total{route="other",status="404"} 1.0',
        'tailwright_request_seconds_count{route="/v1/predict"} 2.0',
        'tailwright_queue_texts{model="",queue="explanations"} 0.0',
    ):
        assert line in lines
    assert 'tailwright_batch_texts_count{model="matcher"}' in client.get("/metrics").text
