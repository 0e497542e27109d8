"""The embedded server: what it refuses, and (live) that it answers and always ends."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from rightcall.errors import MissingExtra, UpstreamError, UsageError
from rightcall.providers.checkpoints import find, pull
from rightcall.providers.llama_cpp import EmbeddedServer


def live(test):
    why = "needs a model: set RIGHTCALL_LIVE=1 (pulls smollm2-135m, 98 MB, once)"
    return pytest.mark.live(pytest.mark.skipif(os.environ.get("RIGHTCALL_LIVE") != "1", reason=why)(test))


def test_without_xllamacpp_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # import's own way of saying that there is none
    with pytest.raises(MissingExtra, match=r"pip install 'rightcall\[local\]'"):
        EmbeddedServer(tmp_path / "model.gguf")


def test_a_missing_file_is_named(tmp_path):
    pytest.importorskip("xllamacpp")
    with pytest.raises(UsageError, match=r"nothing\.gguf.*rightcall models pull"):
        EmbeddedServer(tmp_path / "nothing.gguf")


def test_a_file_of_another_kind_is_refused(tmp_path):
    pytest.importorskip("xllamacpp")
    (tmp_path / "model.safetensors").write_bytes(b"\x00\x01\x02\x03 tensors")
    with pytest.raises(UsageError, match="no GGUF file"):
        EmbeddedServer(tmp_path / "model.safetensors")


def test_a_damaged_file_is_refused_with_the_reason_of_llama_cpp(tmp_path):
    pytest.importorskip("xllamacpp")
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(UpstreamError, match=r"could not serve .*model\.gguf: gguf_"):
        EmbeddedServer(tmp_path / "model.gguf")


@pytest.fixture(scope="module")
def model():
    return pull(find("smollm2-135m"))


def call(server, path, body=None):
    request = urllib.request.Request(  # noqa: S310 - loopback
        server.base_url + path,
        json.dumps(body).encode() if body else None,
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:  # noqa: S310
        return json.load(reply)


def story(max_tokens):
    return {"messages": [{"role": "user", "content": "Tell a long story."}], "max_tokens": max_tokens}


@live
def test_it_answers_quietly_under_its_alias(model, capfd):
    with EmbeddedServer(model, alias="small", context=1024) as server:
        assert server.base_url.startswith("http://127.0.0.1:")
        assert call(server, "/models")["data"][0]["id"] == "small"
        reply = call(server, "/chat/completions", story(max_tokens=4))
    assert reply["model"] == "small"
    assert reply["choices"][0]["message"]["content"]
    assert capfd.readouterr() == ("", "")


@live
def test_each_slot_has_the_whole_context(model):
    with EmbeddedServer(model, context=512, slots=2, threads=1) as server:
        server.base_url = server.base_url.removesuffix("/v1")
        assert call(server, "/props")["default_generation_settings"]["n_ctx"] == 512


@live
def test_closing_right_after_the_start_returns_and_frees_the_port(model):
    server = EmbeddedServer(model, context=512)
    server.close()
    server.close()
    with pytest.raises(urllib.error.URLError):
        call(server, "/models")


@live
def test_closing_in_the_middle_of_a_request_ends_that_request(model):
    failed = []

    def ask(server):
        try:
            call(server, "/chat/completions", story(max_tokens=3000))
        except OSError as error:
            failed.append(error)

    with EmbeddedServer(model, context=4096) as server:
        client = threading.Thread(target=ask, args=[server])
        client.start()
        server.base_url = server.base_url.removesuffix("/v1")
        while not any(slot["is_processing"] for slot in call(server, "/slots")):
            pass
    client.join()
    assert failed


SERVE_FOREVER = """
import sys, threading
from rightcall.providers.llama_cpp import EmbeddedServer
with EmbeddedServer(sys.argv[1], context=512, verbose=True) as server:
    print(server.base_url, flush=True)
    threading.Event().wait()
"""


def serve_forever(model):
    """A process of its own group, as a terminal starts one."""
    command = [sys.executable, "-c", SERVE_FOREVER, str(model)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, start_new_session=True, **pipes)


@live
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_process_ends(model, sent):
    process = serve_forever(model)
    assert process.stdout.readline().startswith(b"http://127.0.0.1:")
    # A terminal's Ctrl-C goes to the whole group, the server included; the others to the one process.
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    process.communicate()  # returns when nobody holds the pipes any more: the server writes its log to one
    assert process.returncode == -sent


@live
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_while_it_loads_ends_both(model):
    process = serve_forever(model)
    assert process.stderr.readline()  # its log has begun
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate()
    assert out == b""
    assert process.returncode == -signal.SIGINT
