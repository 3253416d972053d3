"""The Open Inference Protocol and Annif's API give the same labels in their own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking_server import Client, loaded

INFER = "/v2/models/topics/infer"
SUGGEST = "/annif/v1/projects/topics/suggest"


@pytest.fixture(scope="module")
def client(run_folder: Path) -> Client:
    return Client(loaded(run_folder))


def tensor(data, shape, **other) -> dict:
    return {"inputs": [{"name": "text", "datatype": "BYTES", "shape": shape, "data": data}], **other}


def test_the_server_and_its_models_are_described(client):
    assert client.get("/v2").json()["name"] == "tailwright"
    assert client.get("/v2/health/live").json() == {"live": True}
    model = client.get("/v2/models/topics").json()
    assert [one["name"] for one in model["outputs"]] == ["labels", "probabilities"]
    assert client.get("/v2/models/topics/ready").json() == {"name": "topics", "ready": True}


@pytest.mark.parametrize(
    ("data", "shape"),
    [(["apple", "unseen"], [2]), (["apple", "unseen"], [2, 1]), ([["apple"], ["unseen"]], [2, 1])],
)
def test_tensors_have_k_places_a_text_padded_by_nothing(client, data, shape):
    answer = client.post(INFER, tensor(data, shape, id="7", parameters={"k": 2})).json()
    plain = client.post("/v1/predict", {"text": "apple", "k": 2}).json()
    labels, probabilities = answer["outputs"]
    own = plain["predictions"][0]["labels"]
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("7", "topics", plain["version"])
    assert (labels["datatype"], labels["shape"]) == ("BYTES", [2, 2])
    assert labels["data"] == [*(label["id"] for label in own), "", ""]
    assert (probabilities["datatype"], probabilities["shape"]) == ("FP32", [2, 2])
    assert probabilities["data"] == [*(label["probability"] for label in own), 0.0, 0.0]


def test_only_the_outputs_that_are_asked_for_are_given(client):
    answer = client.post(INFER, tensor(["apple"], [1], outputs=[{"name": "probabilities"}])).json()
    assert [one["name"] for one in answer["outputs"]] == ["probabilities"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (INFER, tensor(["a"], [2]), 422),
        (INFER, tensor(["a"], [1], parameters={"top": 3}), 422),
        (INFER, {"inputs": []}, 422),
        ("/v2/models/nobody/infer", tensor(["a"], [1]), 404),
        ("/v2/nowhere", {}, 404),
    ],
)
def test_errors_have_the_shape_of_that_protocol(client, path, body, status):
    response = client.post(path, body)
    assert (response.status_code, response.json().keys()) == (status, {"error"})
    assert isinstance(response.json()["error"], str)


def test_a_run_is_a_project_of_annif(client):
    (project,) = client.get("/annif/v1/projects").json()["projects"]
    assert (project["project_id"], project["backend"]) == ("topics", {"backend_id": "linear"})
    assert client.get("/annif/v1/projects/topics").json() == project
    assert client.get("/annif/v1/projects/nobody").status_code == 404


def test_annif_suggests_what_predict_gives(client):
    own = client.post("/v1/predict", {"text": "apple & bridge", "k": 2}).json()["predictions"][0]["labels"]
    results = client.post(SUGGEST, data={"text": "apple & bridge", "limit": 2}).json()["results"]
    assert results == [
        {"uri": one["id"], "label": one["name"], "notation": None, "score": one["probability"]} for one in own
    ]
    documents = [{"text": "apple & bridge", "document_id": "x"}, {"text": "unseen"}]
    batch = client.post(f"{SUGGEST}-batch?limit=2", {"documents": documents}).json()
    assert batch == [{"document_id": "x", "results": results}, {"document_id": None, "results": []}]
    sure = client.post(SUGGEST, data={"text": "apple", "threshold": "0.9"}).json()["results"]
    assert [one["uri"] for one in sure] == ["0"]


def test_annif_refuses_other_forms(client):
    assert client.post(SUGGEST, data={"limit": 2}).status_code == 422
    assert client.post(SUGGEST, data={"text": "a", "language": "fi"}).status_code == 422
    assert client.post(SUGGEST, {"text": "a"}).status_code == 415
    assert client.post(SUGGEST, content="text=a&text=b", headers=FORM).status_code == 422
    assert client.post(SUGGEST, content="text=%ff", headers=FORM).status_code == 400
    assert client.post(SUGGEST, content="text", headers=FORM).status_code == 400


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
