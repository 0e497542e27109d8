"""Static embeddings: a text's vector is the mean of its tokens' vectors. No network, no neural net at search time.

Two forms are read, both of `safetensors` and a `tokenizers` file: the weights that the `wordllama` package ships
(L2 Supercat, 256 dimensions, MIT licence), and a folder in model2vec's form. Only data is read from either: no code
of them is imported, nothing is fetched.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightcall.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUNDLED = "bundled"
MAX_BYTES = 2 * 1024**3
_MAX_TOKENS = 2048


class StaticEmbedder:
    """Texts as unit vectors.

    Args:
        name: which model it is; part of what identifies an index.
        vectors: one row a token id, or a row number in `rows`: shape (rows, dimensions), float32.
        tokenizer: a `tokenizers.Tokenizer`.
        weights: one factor a token id, or None.
        rows: the row of each token id, or None where both are the same.
        unknown: the id of the token for unknown text, which says nothing.
    """

    def __init__(
        self, name: str, vectors: Any, tokenizer: Any, *, weights: Any = None, rows: Any = None, unknown: int = -1
    ) -> None:
        self.name = name
        self._vectors, self.tokenizer = vectors, tokenizer
        self._weights, self._rows, self._unknown = weights, rows, unknown
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MAX_TOKENS)

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        return int(self._vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of length 1; all zeros for a text without a known token."""
        import numpy as np

        made = np.zeros((len(texts), self.dimensions), np.float32)
        for number, encoded in enumerate(self._encoded(list(texts))):
            tokens = np.array([token for token in encoded.ids if token != self._unknown], np.int64)
            if not len(tokens):
                continue
            rows = self._vectors[tokens if self._rows is None else self._rows[tokens]]
            total = rows.sum(axis=0) if self._weights is None else self._weights[tokens] @ rows
            length = np.linalg.norm(total)
            if length:
                made[number] = total / length
        return made

    def _encoded(self, texts: list[str]) -> list[Any]:
        """One text is quicker without the threads that many are shared among."""
        if len(texts) == 1:
            return [self.tokenizer.encode(texts[0], add_special_tokens=False)]
        return list(self.tokenizer.encode_batch(texts, add_special_tokens=False))


@lru_cache(maxsize=4)
def load_embedder(where: str) -> StaticEmbedder:
    """The embedder of a setting.

    Args:
        where: `bundled` for the weights of the `wordllama` package, else a folder with `model.safetensors` and
            `tokenizer.json` as model2vec saves them.

    Raises:
        MissingExtra: the extra `search` is not installed.
        UsageError: the folder holds no such model.
    """
    return _bundled() if where == BUNDLED else _from_folder(Path(where).expanduser())


def _bundled() -> StaticEmbedder:
    found = importlib.util.find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("searching by meaning", "search")
    home = Path(found.submodule_search_locations[0])
    tensors = _tensors(home / "weights" / "l2_supercat_256.safetensors")
    tokenizer = _tokenizer(home / "tokenizers" / "l2_supercat_tokenizer_config.json")
    return StaticEmbedder("wordllama/l2_supercat_256", _matrix(tensors, "embedding.weight", home), tokenizer)


def _from_folder(folder: Path) -> StaticEmbedder:
    if not folder.is_dir():
        raise UsageError(
            f"embeddings is {str(folder)!r}, which is no folder; give `{BUNDLED}`, or a folder with model.safetensors"
            " and tokenizer.json as model2vec saves them"
        )
    tensors = _tensors(folder / "model.safetensors")
    tokenizer = _tokenizer(folder / "tokenizer.json")
    vectors, weights, rows = _matrix(tensors, "embeddings", folder), tensors.get("weights"), tensors.get("mapping")
    _fits(folder, tokenizer, vectors, weights, rows)
    unknown = _unknown_token(folder / "tokenizer.json", tokenizer)
    return StaticEmbedder(folder.name, vectors, tokenizer, weights=weights, rows=rows, unknown=unknown)


def _fits(folder: Path, tokenizer: Any, vectors: Any, weights: Any, rows: Any) -> None:
    """Raises where a token could lead beyond the tables."""
    tokens = tokenizer.get_vocab_size()
    known = len(vectors) if rows is None else len(rows)
    outside = rows is not None and len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(vectors)
    if tokens > known or outside or (weights is not None and (weights.ndim != 1 or len(weights) < tokens)):
        raise UsageError(f"the model in {folder} does not fit its tokenizer: {tokens} tokens, {known} vectors")


def _matrix(tensors: dict[str, Any], name: str, where: Path) -> Any:
    import numpy as np

    found = tensors.get(name)
    if found is None or found.ndim != 2:  # noqa: PLR2004 - rows and columns
        raise UsageError(f"the model in {where} has no table {name!r}; it holds {', '.join(tensors) or 'nothing'}")
    return np.ascontiguousarray(found, dtype=np.float32)


def _tensors(path: Path) -> dict[str, Any]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise MissingExtra("searching by meaning", "search") from error
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES} bytes")
        return dict(load_file(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (SafetensorError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is no safetensors file: {error}") from error


def _tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("searching by meaning", "search") from error
    try:
        return Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        raise UsageError(f"{path} is no tokenizer: {error}") from error


def _unknown_token(path: Path, tokenizer: Any) -> int:
    """The id of the token for unknown text, which model2vec leaves out of the mean; -1 where there is none."""
    model = json.loads(path.read_text(encoding="utf-8")).get("model", {})
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    token = tokenizer.token_to_id(model["unk_token"]) if isinstance(model.get("unk_token"), str) else None
    return -1 if token is None else int(token)
