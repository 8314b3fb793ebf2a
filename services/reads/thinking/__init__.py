"""What only firm_credential tools may reach: the owner's credential, the model behind it, embeddings, the citation gate and links to files.

Handlers of free tools are not given it, may not import it, and tests/contract holds that over their whole reachable code."""

from __future__ import annotations

from dataclasses import dataclass

from kit import embedding
from services.reads.thinking.clearance import Files
from services.reads.thinking.credential import Credentials
from services.reads.thinking.rerank import Reranker


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a firm_credential tool thinks with."""

    credentials: Credentials
    reranker: Reranker
    model: embedding.Model | None
    files: Files
