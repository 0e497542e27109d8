"""Where shared data stand, what is skipped without them, and that no test reaches beyond this machine."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"

# A shell that runs the tests in the background ignores Ctrl-C for them, and for what they start to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("RIGHTCALL_LIVE"):
        return
    skip = pytest.mark.skip(reason="needs a real model; set RIGHTCALL_LIVE=1 to run it")
    for item in items:
        if "live" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recordings and corpora, which stands beside the repository where there is one."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared with recordings and corpora is not here")
    return SHARED


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the product runs on."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _only_this_machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere else fails the test that tries it."""
    if "live" in request.keywords:
        return
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> object:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            host = str(address[0])  # type: ignore[index]
            if not (host.startswith("127.") or host in {"::1", "localhost"}):
                raise AssertionError(f"a test tried to connect to {address}")
        return connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
