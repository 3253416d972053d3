"""A real server on the loopback: slow and lying clients, full queues, replaced folders, the end."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asking_server import PATIENCE, answer_of, connected, listening_server, predict_bytes, settings_of, until

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.serving import connections, hosted
from tailwright.serving.settings import Limits

REQUEST = predict_bytes({"text": "apple", "k": 1})
SLOW = Limits(header_seconds=0.3, body_seconds=0.3)


@pytest.fixture(scope="module")
def port(matcher_folder: Path):
    """A server with little patience."""
    with listening_server(settings_of(matcher_folder, limits=SLOW)) as (_, port):
        yield port


def one_answer(port: int, sent: bytes):
    with connected(port, sent) as sock:
        return answer_of(sock)


def test_a_connection_serves_one_request_after_the_other(port):
    with connected(port) as sock:
        for _ in range(2):
            sock.sendall(REQUEST)
            status, headers, body = answer_of(sock)
            assert (status, headers["x-content-type-options"]) == (200, "nosniff")
            assert body["predictions"][0]["labels"][0]["name"] == "apple things"


def test_headers_that_do_not_end_in_time_are_given_up(port):
    status, _, body = one_answer(port, b"POST /v1/predict HTTP/1.1\r\nHost: a\r\nX-Slow: ")
    assert (status, body["error"]["code"]) == (408, "body_timeout")


def test_a_connection_that_says_nothing_is_closed(port):
    assert one_answer(port, b"") == (0, {}, None)


def test_a_body_that_does_not_come_in_time_is_given_up(port):
    status, headers, body = one_answer(port, predict_bytes(b'{"text"', "Content-Length: 100"))
    assert (status, headers["connection"], body["error"]["code"]) == (408, "close", "body_timeout")


def test_a_body_longer_than_it_says_is_no_request(port):
    with connected(port, predict_bytes(b'{"text": "apple"} and more', "Content-Length: 17")) as sock:
        statuses = []
        while (status := answer_of(sock)[0]) and len(statuses) < 3:
            statuses.append(status)
    assert statuses
    assert set(statuses) <= {200, 400}
    assert 400 in statuses


def test_a_chunked_body_is_read_and_one_that_is_too_long_refused(port):
    body = json.dumps({"text": "apple"}).encode()
    chunked = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    assert one_answer(port, predict_bytes(chunked, "Transfer-Encoding: chunked"))[0] == 200
    large = b"40000\r\n" + b" " * 0x40000 + b"\r\n"
    status, headers, said = one_answer(
        port, predict_bytes(5 * large + b"0\r\n\r\n", "Transfer-Encoding: chunked")
    )
    assert (status, headers["connection"], said["error"]["code"]) == (413, "close", "too_large")


def test_a_client_that_asks_first_is_told_before_it_sends_too_much(port):
    status, _, body = one_answer(
        port, predict_bytes(b"", f"Content-Length: {2 << 20}", "Expect: 100-continue")
    )
    assert (status, body["error"]["code"]) == (413, "too_large")


def test_bytes_that_are_no_request_get_an_error_of_our_shape(port):
    status, headers, body = one_answer(port, b"\x16\x03\x01 hello\r\n\r\n")
    assert (status, body["error"]["code"], len(headers["x-request-id"])) == (400, "bad_request", 32)


def test_a_socket_that_is_half_closed_does_not_stay(port):
    for sent in (b"", b"POST /v1/pre", predict_bytes(b"{", "Content-Length: 9")):
        with connected(port, sent) as sock:
            sock.shutdown(socket.SHUT_WR)
            assert answer_of(sock)[0] in {0, 400, 408}


def test_more_connections_than_allowed_are_refused_in_our_shape(matcher_folder):
    with listening_server(settings_of(matcher_folder, limits=Limits(connections=2))) as (_, port):
        kept = [connected(port, REQUEST) for _ in range(2)]
        assert [answer_of(sock)[0] for sock in kept] == [200, 200]
        status, headers, body = one_answer(port, REQUEST)
        assert (status, headers["retry-after"]) == (429, "1")
        assert body["error"]["code"] == "too_many_connections"
        kept.pop().close()
        until(lambda: one_answer(port, REQUEST)[0] == 200)
        kept.pop().close()


class Blocked:
    """A model that answers only when it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may, self.batches, answers = threading.Event(), [], hosted.answers

        def blocked(run, asks):
            self.batches.append(len(asks))
            assert self.may.wait(PATIENCE)
            return answers(run, asks)

        monkeypatch.setattr(hosted, "answers", blocked)


def test_a_full_queue_answers_429_at_once_and_the_end_answers_all_that_were_accepted(
    matcher_folder, monkeypatch
):
    with listening_server(settings_of(matcher_folder, limits=Limits(queue=3))) as (server, port):
        model = Blocked(monkeypatch)
        first = connected(port, REQUEST)
        until(lambda: model.batches)
        waiting = [connected(port, REQUEST) for _ in range(3)]
        until(lambda: server.service.metrics.waiting.labels("matcher", "predictions")._value.get() == 3)
        status, headers, body = one_answer(port, REQUEST)
        assert (status, body["error"]["code"]) == (429, "too_many_requests")
        assert int(headers["retry-after"]) >= 1
        # The client of one that waits goes away: there is room again.
        waiting.pop().close()
        until(lambda: server.service.metrics.waiting.labels("matcher", "predictions")._value.get() == 2)
        live = one_answer(port, b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        assert live[0] == 200  # the loop is not blocked
        server.stop()
        until(lambda: one_answer(port, b"GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n")[0] == 503)
        model.may.set()
        assert [answer_of(sock)[0] for sock in (first, *waiting)] == [200, 200, 200]
        for sock in (first, *waiting):
            sock.close()
    assert model.batches == [1, 2]
    with pytest.raises(ConnectionRefusedError):
        connected(port)


def test_requests_that_come_as_the_server_stops_listening_are_answered(matcher_folder, monkeypatch):
    clients, waiting = [], connections.waiting_connections

    def at_the_last_moment(sock):
        monkeypatch.setattr(connections, "DRAIN_SECONDS", PATIENCE)  # for the request that comes later
        kept.sendall(REQUEST)
        clients.extend(connected(port, sent) for sent in (REQUEST, REQUEST[:20], b""))
        return waiting(sock)

    monkeypatch.setattr(connections, "waiting_connections", at_the_last_moment)
    with listening_server(settings_of(matcher_folder)) as (server, port), connected(port, REQUEST) as kept:
        assert answer_of(kept)[0] == 200
        server.stop()
        until(lambda: len(clients) == 3)
        clients[1].sendall(REQUEST[20:])
        clients[2].sendall(REQUEST)
        answers = [answer_of(sock) for sock in (kept, *clients)]
        assert [(status, headers["connection"]) for status, headers, _ in answers] == 4 * [(200, "close")]
        for sock in clients:
            sock.close()


def test_a_full_queue_is_told_before_the_body_has_come(matcher_folder, monkeypatch):
    with listening_server(settings_of(matcher_folder, limits=Limits(queue=1))) as (server, port):
        model = Blocked(monkeypatch)
        with connected(port, REQUEST) as first:
            until(lambda: model.batches)
            with connected(port, REQUEST) as second:
                until(lambda: server.service.hosts["matcher"].queue.is_full)
                for path in ("/v1/predict", "/v2/models/matcher/infer", "/annif/v1/projects/matcher/suggest"):
                    asked = predict_bytes(b"{", "Content-Length: 9").replace(b"/v1/predict", path.encode())
                    assert one_answer(port, asked)[0] == 429
                model.may.set()
                assert [answer_of(sock)[0] for sock in (first, second)] == [200, 200]


def test_explanations_do_not_hold_predictions_up(matcher_folder, monkeypatch):
    may = threading.Event()
    monkeypatch.setattr("tailwright.serving.api.whys", lambda *asked: may.wait(PATIENCE) and [{}])
    with listening_server(settings_of(matcher_folder)) as (_, port):
        slow = connected(port, predict_bytes({"text": "apple", "k": 1, "explain": True}))
        assert one_answer(port, REQUEST)[0] == 200
        may.set()
        assert answer_of(slow)[0] == 200
        slow.close()


def test_a_replaced_folder_is_served_without_a_lost_request(matcher_folder, tmp_path, capsys):
    folder = tmp_path / "topics"
    shutil.copytree(matcher_folder, folder)
    with listening_server(settings_of(folder, reload_every=0)) as (server, port):
        before = version(port)
        done, statuses = threading.Event(), []

        def keep_asking() -> None:
            with connected(port) as sock:
                while not done.is_set():
                    sock.sendall(REQUEST)
                    statuses.append(answer_of(sock)[0])

        with ThreadPoolExecutor(2) as pool:
            asking = [pool.submit(keep_asking) for _ in range(2)]
            try:
                tw.train(tiny_corpus(60), "label-matcher", measure=False).save(folder, overwrite=True)
                server.servers[0].get_loop().call_soon_threadsafe(server.look_for_replaced_runs)
                until(lambda: version(port) != before)
            finally:
                done.set()
            for one in asking:
                one.result()
        assert set(statuses) == {200}
        # A broken folder is told of, and the run goes on.
        now = version(port)
        (folder / "manifest.json").write_text("{}")
        server.servers[0].get_loop().call_soon_threadsafe(server.look_for_replaced_runs)
        until(lambda: reloads(server, "failed") == 1)
        assert (version(port), one_answer(port, REQUEST)[0]) == (now, 200)
        assert reloads(server, "loaded") == 1
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in events] == ["reloaded", "reload failed"]
    assert (events[0]["before"], events[0]["version"]) == (before, now)


def test_a_run_that_is_replaced_while_a_body_comes_answers_as_the_new_one(matcher_folder, tmp_path):
    folder = tmp_path / "topics"
    shutil.copytree(matcher_folder, folder)
    texts = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["apple"]}
    body = json.dumps({"inputs": [texts]}).encode()
    ours = predict_bytes({"text": "apple", "k": 1})
    theirs = predict_bytes(body).replace(b"/v1/predict", b"/v2/models/topics/infer")
    with listening_server(settings_of(folder, reload_every=0)) as (server, port):
        before = version(port)
        with connected(port, ours[:-5]) as first, connected(port, theirs[:-5]) as second:
            tw.train(tiny_corpus(60), "label-matcher", measure=False).save(folder, overwrite=True)
            server.servers[0].get_loop().call_soon_threadsafe(server.look_for_replaced_runs)
            until(lambda: version(port) != before)
            for sock, request in ((first, ours), (second, theirs)):
                sock.sendall(request[-5:])
            answers = [answer_of(sock) for sock in (first, second)]
        assert [status for status, _, _ in answers] == [200, 200]
        assert answers[0][2]["version"] == answers[1][2]["model_version"] == version(port)


def version(port: int) -> str:
    return one_answer(port, b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")[2]["models"][0]["version"]


def reloads(server, outcome: str) -> float:
    return server.service.metrics.reloads.labels("topics", outcome)._value.get()
