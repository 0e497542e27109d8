"""Tools by what their texts mean: one vector each, and a query's neighbours among them, all compared.

A static embedding makes 10,000 vectors of 256 numbers in 10 MB; one product with all of them takes a millisecond, so
there is nothing to approximate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rightcall.catalogue.words import MAX_CHARS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rightcall.ports import Embedder

_BATCH = 1024


class VectorIndex:
    """The vectors of texts, as an array of shape (texts, dimensions) of float32."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self._embedder = embedder
        self._vectors = self._of([text[:MAX_CHARS] for text in texts])

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The `k` texts whose vectors are nearest to the query's, with their cosines, best first.

        Nothing where the query holds no word that the embedder knows.
        """
        import numpy as np

        near = self._embedder.embed([query[:MAX_CHARS]])[0]
        if not len(self._vectors) or not near.any():
            return []
        cosines = self._vectors @ near
        k = min(k, len(cosines))
        best = np.argpartition(-cosines, k - 1)[:k]
        ranked = sorted(best.tolist(), key=lambda number: (-cosines[number], number))
        return [(number, float(cosines[number])) for number in ranked]

    def _of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        parts = [self._embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)
