"""The cost test can fail: violations that were planted, each in a copy of the real code, direct, indirect and beyond following."""

from __future__ import annotations

import pytest

from tests.contract.reach import World
from tests.contract.test_cost import READS, resolves, violations, world

HANDLER = "services.reads.custom.get_substrate_contract"
ENGINE = "services.reads.engine"


def planted(module: str, text: str, **more: str) -> World:
    """The code of reads with one module more or changed."""
    return World({**READS, module: text, **{name.replace("__", "."): source for name, source in more.items()}})


def custom(body: str, head: str = "") -> World:
    """The code of reads with the handler of a free tool written anew."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return planted(HANDLER, f"{head}\nasync def answer(_tool, engine, stores, request, call):\n{lines}\n")


DIRECT = {
    "asks a model's provider by itself": custom("return anthropic.Anthropic()", "import anthropic"),
    "imports it inside the function, under another name": custom("import anthropic as quiet\nreturn quiet.Anthropic()"),
    "embeds": custom("return load().embed([request.query])", "from kit.embedding import load"),
    "runs the citation gate": planted(
        HANDLER,
        "from services.reads.engines import gate\nasync def answer(*a):\n    return gate.check('', (), ())\n",
        services__reads__engines__gate="def check(text, findings, ledger):\n    return None\n",
    ),
    "opens a credential": custom("return kit.sealed_credentials.unseal(b'', '', '', b'')", "import kit.sealed_credentials"),
    "speaks HTTP": custom("return urllib.request.urlopen('http://x')", "import urllib.request"),
}
HELPER = "from services.reads.thinking import rerank\ndef prose(x):\n    return rerank.AnthropicReranker('', '')\n"
INDIRECT = {
    "through a builder two modules away": planted(
        HANDLER,
        "from services.reads import outer\nasync def answer(*a):\n    return outer.build(a)\n",
        services__reads__outer="from services.reads import builder\ndef build(x):\n    return builder.prose(x)\n",
        services__reads__builder=HELPER,
    ),
    "through a name that a package hands on": planted(
        HANDLER,
        "from services.reads.handed import prose\nasync def answer(*a):\n    return prose(a)\n",
        services__reads__handed="from services.reads.builder import prose\n",
        services__reads__builder=HELPER,
    ),
    "through an object that it was given": custom("return await call.thinking.reranker.rerank('q', [], None)"),
    "through an attribute under another name": custom("ask = stores.thinking.reranker.rerank\nreturn await ask('q', [], None)"),
    "through getattr with a plain name": custom("return await getattr(stores.x, 'rerank')('q', [], None)"),
    "through a table of functions": custom("return TABLE[request.kind]()", "from kit import embedding\nTABLE = {'a': embedding.load}"),
    "through partial": custom(
        "return partial(fuse_all, 1)()",
        "from functools import partial\nfrom kit.embedding import load\ndef fuse_all(x):\n    return load()",
    ),
    "through a lambda": custom("return (lambda: embedding.load())()", "from kit import embedding"),
    "through a decorator": custom(
        "return inner()", "from kit import embedding\ndef paid(f):\n    embedding.load()\n    return f\n@paid\ndef inner():\n    return 1"
    ),
    "through a default": custom("return inner()", "from kit import embedding\ndef inner(model=embedding.load()):\n    return model"),
    "through a class it makes": custom(
        "return Helper()", "from kit import embedding\nclass Helper:\n    def __init__(self):\n        self.model = embedding.load()"
    ),
    "through a class that it inherits from": custom(
        "return Helper()",
        "from kit import embedding\nclass Base:\n    def __init__(self):\n        embedding.load()\nclass Helper(Base):\n    pass",
    ),
    "through a function inside a function": custom(
        "def inner():\n    return embedding.load()\nreturn inner()", "from kit import embedding"
    ),
    "through a comprehension": custom("return [m() for m in (embedding.load,)]", "from kit import embedding"),
    "through an import that depends": custom(
        "return load()", "try:\n    from kit.embedding import load\nexcept ImportError:\n    def load():\n        return None"
    ),
}
UNFOLLOWED = {
    "a module named at run time": custom("return importlib.import_module(request.kind).run()", "import importlib"),
    "an attribute named at run time": custom("return getattr(stores, request.kind)()"),
    "a function found in globals": custom("return globals()[request.kind]()"),
    "code in a text": custom("return eval(request.kind)"),
    "a method named at run time": custom("return methodcaller(request.kind)(stores)", "from operator import methodcaller"),
    "an attribute out of a dictionary": custom("return stores.__dict__[request.kind]()"),
}


@pytest.mark.parametrize("how", [*DIRECT, *INDIRECT, *UNFOLLOWED])
def test_a_free_handler_that_thinks_is_found_however_it_gets_there(how: str) -> None:
    assert violations("get_substrate_contract", {**DIRECT, **INDIRECT, **UNFOLLOWED}[how]) != []


@pytest.mark.parametrize("tool", ["get_matter", "list_documents", "search_documents"])
def test_an_engine_that_thinks_is_found_in_every_tool_that_is_a_statement_alone(tool: str) -> None:
    method = "        found = await self._read(tool, request, call, page)\n"
    assert method in READS[ENGINE]
    text = READS[ENGINE].replace(method, f"        await tool.thinking.reranker.rerank('', [], None)\n{method}")
    assert violations(tool, planted(ENGINE, text)) != []


OWNED = "    paid_by = await thinking.credentials.resolve_owner_credential(call)\n"
LATER = {
    "never": "    paid_by = None\n",
    "only under a condition": "    if request.query:\n        paid_by = await thinking.credentials.resolve_owner_credential(call)\n",
    "only in words": "    paid_by = 'resolve_owner_credential'\n",
    "without waiting for it": "    paid_by = thinking.credentials.resolve_owner_credential(call)\n",
    "by a helper": "    paid_by = await elsewhere(thinking, call)\n",
    "without taking what it says": "    await thinking.credentials.resolve_owner_credential(call)\n",
}


@pytest.mark.parametrize("how", LATER)
def test_a_firm_credential_handler_that_does_not_resolve_is_found(how: str) -> None:
    name = "services.reads.paid.retrieve"
    assert OWNED in READS[name]
    assert resolves("retrieve", READS)
    assert not resolves("retrieve", {**READS, name: READS[name].replace(OWNED, LATER[how])})


def test_a_firm_credential_tool_reaches_what_thinks_so_the_walk_sees_it() -> None:
    reached = violations("retrieve", world("reads"))
    for name in ("rerank.AnthropicReranker._ask", "credential.SealedCredentials", "candidates.collect"):
        assert any(name in line for line in reached), name
    assert any("touches anthropic" in line for line in reached)


def test_a_handler_that_only_reads_is_clean() -> None:
    assert violations("get_substrate_contract", custom("return engine.now()")) == []
