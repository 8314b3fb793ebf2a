"""Vectors of texts from a small model that ships in a package of the registry (WordLlama); where it is not installed there are none.

The model is one table: a vector a token, averaged over a text. It is read from the package's files, so that nothing is ever fetched."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

NAME = "wordllama-l2_supercat_256"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_SCALE = 127
TEXT_MAX_TOKENS = 1_024


def installed() -> bool:
    """Whether the model and what reads it are there."""
    return all(importlib.util.find_spec(name) for name in ("wordllama", "numpy", "safetensors", "tokenizers"))


class Model:
    """Texts to vectors of signed bytes."""

    def __init__(self, folder: Path) -> None:
        import numpy as np
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._numpy = np
        (self._table,) = load_file(folder / _WEIGHTS).values()
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TEXT_MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector a text, of unit length before it is rounded to a signed byte a dimension."""
        np = self._numpy
        found = []
        for encoded in self._tokenizer.encode_batch(list(texts), add_special_tokens=False):
            mean = self._table[encoded.ids].astype(np.float32).mean(axis=0) if encoded.ids else np.zeros(self._table.shape[1], np.float32)
            length = float(np.linalg.norm(mean))
            found.append(np.rint(mean / length * _SCALE if length else mean).astype(np.int8).tobytes())
        return found

    def nearness(self, vector: bytes, others: Sequence[bytes]) -> list[float]:
        """How near each of the others is, from -1 to 1; one of another size is as far as can be."""
        np = self._numpy
        size = len(vector)
        table = np.frombuffer(b"".join(o if len(o) == size else bytes(size) for o in others), np.int8).reshape(len(others), size)
        near: Any = table.astype(np.int32) @ np.frombuffer(vector, np.int8).astype(np.int32) / (_SCALE * _SCALE)
        return [float(n) for n in near]


@cache
def load() -> Model | None:
    """The model, or None where it is not installed."""
    if not installed():
        return None
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Model(Path(next(iter(spec.submodule_search_locations))))
