"""A model server of one's own: llama.cpp, by way of xllamacpp (the extra `local`), on loopback.

It runs in a child process although xllamacpp could run it in this one. Measured with xllamacpp 2026.10.11549,
inside one process: loading a model and closing the server hold the GIL, so that everything else stands still;
closing a server right after its start never returns (it tells a loop to stop that has not begun), nor does
closing it while a request is under way that is not streamed (it waits for a client that waits for the GIL).
A child can be killed: it holds nothing but memory. And should this process die, the child sees its standard
input end, and ends too.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from rightcall.errors import MissingExtra, UpstreamError, UsageError

if TYPE_CHECKING:
    from types import TracebackType

_READY = "rightcall: listening on "
_CHILD = "from rightcall.providers.llama_cpp import _serve; _serve()"
_VERBOSE, _ERRORS_ONLY = 3, 1


class EmbeddedServer:
    """llama.cpp's OpenAI-compatible server on a free loopback port, from construction until `close()`.

        with EmbeddedServer(path) as server:
            client = OpenAI(base_url=server.base_url, api_key="none")

    `alias` is the model's name in replies (the file's name without its ending where it is empty). `context`
    is in tokens and for each of the `slots` requests that are answered at once. `threads` is llama.cpp's own
    choice where it is None. `verbose` lets its log through to standard error. The chat template is the
    checkpoint's (jinja), and pages of browsers are not let in (no CORS, no web interface).

    Raises:
        MissingExtra: xllamacpp is not installed.
        UsageError: `model_path` is no GGUF file.
        UpstreamError: llama.cpp could not load it; the message holds the reason it gave.
    """

    base_url: str
    """Ends in `/v1`."""

    def __init__(
        self,
        model_path: str | os.PathLike[str],
        *,
        alias: str = "",
        context: int = 8192,
        threads: int | None = None,
        slots: int = 1,
        verbose: bool = False,
    ) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("the embedded model server", "local")
        path = Path(model_path).absolute()
        _require_gguf(path)
        options = {
            "path": str(path),
            "alias": alias or path.stem,
            "context": context * slots,  # llama.cpp divides it among the slots
            "threads": threads,
            "slots": slots,
            "verbosity": _VERBOSE if verbose else _ERRORS_ONLY,
        }
        with tempfile.TemporaryFile() as log:
            process = _spawn(options, None if verbose else log)
            # Runs at close(), when the object is dropped, and at the interpreter's exit; once.
            self._stop = weakref.finalize(self, _kill, process)
            try:
                self.base_url = f"{_await_ready(process)}/v1"
            except EOFError:
                self.close()
                reason = "its log says why" if verbose else _reason(log)
                raise UpstreamError(f"llama.cpp could not serve {path}: {reason}") from None
            except BaseException:  # Ctrl-C while it loads
                self.close()
                raise

    def close(self) -> None:
        """Stops the server, also in the middle of requests, and frees its memory. May be called again."""
        self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _require_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(f"The model file cannot be read: {error}. `rightcall models pull` fetches one.") from error
    if magic != b"GGUF":
        raise UsageError(f"{path} is no GGUF file: it begins with {magic!r}. llama.cpp reads GGUF only.")


def _spawn(options: dict[str, Any], log: IO[bytes] | None) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", _CHILD, json.dumps(options)],
        # The child finds rightcall and xllamacpp where this process found them.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,  # never written to: it ends when this process does
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def _await_ready(process: subprocess.Popen[str]) -> str:
    """The address that the child announces once the model is loaded. Raises EOFError where it ends instead."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    for line in process.stdout:
        if line.startswith(_READY):
            return line.removeprefix(_READY).strip()
    raise EOFError


def _kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()  # closes the pipes and waits


def _reason(log: IO[bytes]) -> str:
    """llama.cpp's first error, else whatever was said last (a traceback of the child's ends with its error)."""
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()
    errors = [line.split(" E ", 1)[1] for line in lines if " E " in line]
    return (errors or lines[-1:] or ["it said nothing"])[0].strip()


def _serve() -> None:
    """The child's whole life: load, announce, serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the parent may still be finishing a reply
    options = json.loads(sys.argv[1])
    server = _native_server(options)
    sys.stdout.write(f"{_READY}{server.listening_address}\n")
    sys.stdout.flush()
    os.dup2(2, 1)  # nobody reads the pipe any more
    sys.stdin.read()
    os._exit(0)  # not through the server's destructor, which may wait forever


def _native_server(options: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options["path"]
    params.model_alias = {options["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.n_ctx = options["context"]
    params.n_parallel = options["slots"]
    if options["threads"] is not None:
        params.cpuparams.n_threads = options["threads"]
        params.cpuparams_batch.n_threads = options["threads"]
    params.use_jinja = True
    params.verbosity = options["verbosity"]
    params.cors_origins = ""
    params.ui = False
    return xllamacpp.Server(params)
