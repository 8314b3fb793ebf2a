"""Where a person keeps their passkeys. A new one takes a one-time code; removing takes nothing, so that a lost one is quickly out."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from kit import limits
from services.approvals import tokens
from services.approvals.incoming import Problem, Visit, not_found
from services.approvals.render import Renderer
from services.approvals.shell import html
from services.approvals.step_up import StepUps
from services.approvals.store import Store

NAME = f"Give the passkey a name of 1 to {limits.PASSKEY_NAME_MAX_CHARS} characters."
NO_CODES = "A new passkey needs a one-time code, and none is set up for you. Ask whoever runs this system."
NO_PASSKEYS = Problem(409, "No passkeys here", "Browsers make no passkeys for this address. It takes HTTPS and a name. Use one-time codes.")
CODE = "Enter the six digits of your one-time code."
FULL = f"You have {limits.PASSKEYS_MAX} passkeys. Remove one first."
NOT_MADE = Problem(
    409, "The passkey was not added", "It was not made for this page, took too long, or is known already. Start again from Passkeys."
)


class PasskeyPages:
    """Handlers of the pages."""

    def __init__(self, store: Store, step_ups: StepUps, renderer: Renderer) -> None:
        self._store, self._step_ups, self._renderer = store, step_ups, renderer
        self._passkeys = step_ups.passkeys

    def _page(self, visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
        def form_token(path: str) -> str:
            return tokens.form_token(visit.token, path)

        return html(self._renderer.page(template, person=visit.person, form_token=form_token, **values), status)

    async def all(self, visit: Visit) -> Response:
        """What there is, and a form for another."""
        return await self._all(visit)

    async def _all(self, visit: Visit, error: str | None = None, at: str = "name") -> Response:
        async with self._store.reading() as work:
            rows = await self._passkeys.of(work, visit.person.id)
        values = {"passkeys": rows, "possible": self._passkeys.possible, "full": FULL if len(rows) >= limits.PASSKEYS_MAX else None}
        return self._page(visit, "passkeys.html", 422 if error else 200, error=error, error_at=at, name=visit.form.one("name"), **values)

    async def new(self, visit: Visit) -> Response:
        """Takes a one-time code, and asks the browser for a new passkey."""
        if not self._passkeys.possible:
            raise NO_PASSKEYS
        name, code = visit.form.one("name").strip(), visit.form.one("code").strip()
        async with self._store.reading() as work:
            full = len(await self._passkeys.of(work, visit.person.id)) >= limits.PASSKEYS_MAX
        if full:
            return await self._all(visit, FULL)
        if not 0 < len(name) <= limits.PASSKEY_NAME_MAX_CHARS:
            return await self._all(visit, NAME)
        if not visit.person.totp_enrolled:
            return await self._all(visit, NO_CODES, "code")
        if not code:
            return await self._all(visit, CODE, "code")
        if refused := await self._step_ups.code(visit.person, code, b""):
            return await self._all(visit, refused.message, "code")
        async with self._store.changing() as work:
            options, challenge = await self._passkeys.begin(work, visit.person, visit.token, name)
        return self._page(visit, "passkey_new.html", options=options, challenge=challenge, name=name)

    async def add(self, visit: Visit) -> Response:
        """Takes what the browser made."""
        if not self._passkeys.possible:
            raise NO_PASSKEYS
        async with self._store.changing() as work:
            added = await self._passkeys.add(work, visit.person, visit.token, visit.form.one("challenge"), visit.form.one("passkey"))
        if not added:
            raise NOT_MADE
        return RedirectResponse("/passkeys", 303)

    async def remove(self, visit: Visit) -> Response:
        """Removes one."""
        async with self._store.changing() as work:
            removed = await self._passkeys.remove(work, visit.person, visit.id)
        if not removed:
            raise not_found()
        return RedirectResponse("/passkeys", 303)
