"""The API, asked in process: what each route gives, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asking_server import Client, loaded

import tailwright as tw
from tailwright.serving.bodies import FoundLabels, LabelDetails, Models, PredictAnswer
from tailwright.serving.hosted import version_of
from tailwright.serving.settings import Limits

LIMITS = Limits(body=2000, texts=4, characters=50, labels=30, explanations=2)


@pytest.fixture(scope="module")
def client(run_folder: Path, matcher_folder: Path) -> Client:
    return Client(loaded(run_folder, f"by-text={matcher_folder}", limits=LIMITS))


def message_of(response) -> str:
    error = response.json()["error"]
    assert error["request_id"] == response.headers["x-request-id"]
    return f"{response.status_code} {error['code']}: {error['message']}"


def test_one_text_gets_its_labels(client, run_folder):
    response = client.post("/v1/predict", {"text": "old apple bridge", "k": 2})
    answer = PredictAnswer.model_validate(response.json())
    said = tw.load(run_folder).predict(["old apple bridge"], k=2)
    (prediction,) = answer.predictions
    assert [label.id for label in prediction.labels] == said.ids[0]
    assert [label.name for label in prediction.labels] == said.names[0]
    assert [label.probability for label in prediction.labels] == said.scores[0]
    assert (answer.model, answer.version) == ("topics", version_of(run_folder))
    assert "why" not in response.json()["predictions"][0]["labels"][0]


def test_several_texts_get_a_prediction_each_in_order(client):
    answer = client.post("/v1/predict", {"texts": ["forest", "", "guitar"], "k": 1}).json()
    names = [[label["name"] for label in one["labels"]] for one in answer["predictions"]]
    assert names == [["forest things"], [], ["guitar things"]]


def test_labels_can_be_chosen_by_id_or_name_and_left_out(client):
    only = client.post("/v1/predict", {"text": "apple bridge", "only": ["0", "bridge things"]}).json()
    assert {label["id"] for label in only["predictions"][0]["labels"]} == {"0", "1"}
    rest = client.post("/v1/predict", {"text": "apple bridge", "not": ["0"], "k": 1}).json()
    assert [label["id"] for label in rest["predictions"][0]["labels"]] == ["1"]


def test_k_above_the_number_of_labels_is_that_number(client):
    all_labels = client.post("/v1/predict", {"text": "apple", "k": 11}).json()
    assert client.post("/v1/predict", {"text": "apple", "k": 10**6}).json() == all_labels


def test_a_model_without_probabilities_says_null(client):
    answer = client.post("/v1/predict", {"text": "apple", "model": "by-text", "k": 1}).json()
    (label,) = answer["predictions"][0]["labels"]
    assert answer["model"] == "by-text"
    assert label["probability"] is None
    assert label["score"] > 0


def test_an_explanation_has_words_in_their_places_and_training_rows(client):
    text = "Old apple, APPLE"
    (label,) = client.post("/v1/predict", {"text": text, "k": 1, "explain": True}).json()["predictions"][0][
        "labels"
    ]
    why = label["why"]
    assert [text[word["start"] : word["end"]].lower() for word in why["words"]] == ["old", "apple", "apple"]
    assert why["words"][1]["weight"] > abs(why["words"][0]["weight"])
    assert len(why["rows"]) == 3
    assert all("apple" in row["text"] and row["similarity"] > 0 for row in why["rows"])
    assert why["parts"] == []


def test_models_are_described_the_default_first(client, run_folder):
    models = Models.model_validate(client.get("/v1/models").json()).models
    assert [model.name for model in models] == ["topics", "by-text"]
    first = models[0]
    assert (first.model, first.labels, first.rows, first.version) == (
        "linear",
        11,
        120,
        version_of(run_folder),
    )


def test_labels_that_begin_like_the_search_come_before_those_that_contain_it(client):
    found = FoundLabels.model_validate(client.get("/v1/labels", params={"search": "F"}).json())
    assert [label.name for label in found.labels] == ["forest things"]
    found = FoundLabels.model_validate(client.get("/v1/labels", params={"search": "d", "limit": 2}).json())
    assert [label.name for label in found.labels] == ["desert things", "bridge things"]
    assert found.found == 4  # and candle, island
    assert FoundLabels.model_validate(client.get("/v1/labels").json()).found == 11


def test_a_label_is_described_with_its_neighbours_in_the_graph(client):
    label = LabelDetails.model_validate(client.get("/v1/labels/1").json())
    assert (label.id, label.name, label.text) == ("1", "bridge things", "bridge things")
    assert label.neighbours_known
    assert "0" in {one.id for one in label.neighbours}  # the most frequent label is often beside it
    assert {one.id for one in label.nearest} == {str(i) for i in range(11)} - {"1"}


def test_neighbours_are_not_known_without_the_training_rows(client):
    label = LabelDetails.model_validate(client.get("/v1/labels/1", params={"model": "by-text"}).json())
    assert (label.neighbours, label.neighbours_known) == ([], False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "422 invalid: found {}, expected exactly one of text and texts"),
        ({"text": "a", "texts": ["b"]}, "422 invalid: found "),
        ({"text": 7}, "422 invalid: text: found 7, expected a valid string"),
        ({"text": "a", "k": 0}, "422 invalid: k: found 0, expected greater than or equal to 1"),
        ({"text": "a", "k": "3"}, "422 invalid: k: found '3'"),
        ({"text": "a", "tail": 1.5}, "422 invalid: tail: found 1.5"),
        ({"text": "a", "labels": 3}, "422 invalid: found the unknown field labels"),
        ({"text": "a", "only": ["nobody"]}, "422 invalid: only: found 'nobody', expected the id or name"),
        ({"text": "a", "only": []}, "422 invalid: found a choice of labels that leaves none"),
        (
            {"text": "a", "only": ["0"], "not": ["0"]},
            "422 invalid: found a choice of labels that leaves none",
        ),
        (
            {"text": "a", "model": "nobody"},
            "404 not_found: found no model 'nobody', expected one of 'topics'",
        ),
        (
            {"text": "a", "model": "by-text", "threshold": 0.5},
            "422 invalid: found a threshold for label-matcher",
        ),
        ({"text": "a", "model": "by-text", "tail": 0.5}, "422 invalid: found a tail above 0"),
        ({"texts": []}, "422 invalid: found 0 texts, expected 1 to 4"),
        ({"texts": ["a"] * 5}, "422 invalid: found 5 texts, expected 1 to 4"),
        ({"texts": ["a", "b" * 51]}, "422 invalid: text 1: found 51 characters, expected at most 50"),
        ({"texts": ["a"] * 4, "k": 11}, "422 invalid: found 4 texts with k 11, expected at most 30 labels"),
        ({"texts": ["a"] * 3, "explain": True}, "422 invalid: explain: found 3 texts"),
        ([], "422 invalid: found []"),
    ],
    ids=lambda value: json.dumps(value)[:40] if not isinstance(value, str) else "",
)
def test_a_wrong_body_is_refused_in_one_sentence(client, body, expected):
    response = client.post("/v1/predict", body)
    assert message_of(response).startswith(expected)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"content": b"{"}, "400 bad_request: found a body that is no JSON"),
        ({"content": b'{"text": "\xff"}'}, "400 bad_request: found a body that is no JSON"),
        ({"content": b'{"text": "\\ud800"}'}, "400 bad_request: found a body that is no JSON"),
        (
            {"data": {"text": "a"}},
            "415 unsupported_media_type: found a body of type 'application/x-www-form-",
        ),
        (
            {"content": b"x" * 2001},
            "413 too_large: found a body of 2001 bytes or more, expected at most 2000",
        ),
    ],
    ids=["half", "no UTF-8", "half a surrogate", "form", "large"],
)
def test_a_body_that_cannot_be_read_is_refused(client, request_, expected):
    assert message_of(client.post("/v1/predict", **request_)).startswith(expected)


@pytest.mark.parametrize("headers", [{}, {"content-length": "10"}], ids=["no length", "a shorter one"])
def test_a_body_without_a_true_length_is_cut_off_at_the_limit(client, headers):
    async def chunks():
        for _ in range(100):
            yield b" " * 1000

    response = client.post("/v1/predict", content=chunks(), headers=headers)
    assert message_of(response).startswith("413 too_large")


def test_other_paths_and_methods_are_errors_of_the_same_shape(client):
    assert message_of(client.get("/v1/nothing")).startswith("404 not_found")
    assert message_of(client.get("/v1/predict/")).startswith("404 not_found")
    response = client.get("/v1/predict")
    assert message_of(response) == "405 method_not_allowed: found another method, expected POST"
    assert response.headers["allow"] == "POST"
    assert message_of(client.get("/v1/labels/nobody")).startswith("404 not_found: found no label 'nobody'")
    assert message_of(client.get("/v1/labels?limit=0")).startswith("422 invalid: limit")
    assert message_of(client.get("/v1/labels?limit=1&limit=2")).startswith("422 invalid: limit")


def test_an_error_of_ours_is_told_without_its_details(client, monkeypatch, capsys):
    monkeypatch.setattr("tailwright.serving.hosted.answers", lambda run, asks: 1 / 0)
    response = client.post("/v1/predict", {"text": "a"})
    assert message_of(response).startswith("500 internal: a failure of the server")
    assert "division" not in response.text
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["error"]) == ("error", "ZeroDivisionError: division by zero")
