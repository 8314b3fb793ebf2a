"""The key that a request came with, and what auth says of it when it is asked."""

from __future__ import annotations

from substrate.auth.v1 import auth_service_pb2

from kit.authority import Authority
from kit.credentials import ApiKey


class Caller:
    """One request's key. It is judged afresh in every request, by auth or by the service that the call goes to; never here."""

    __slots__ = ("_authority", "_principal", "key")

    def __init__(self, key: ApiKey, authority: Authority) -> None:
        self.key, self._authority = key, authority
        self._principal: auth_service_pb2.Principal | None = None

    async def authenticate(self) -> auth_service_pb2.Principal:
        """Whose key this is, asked once a request; a refusal where it is no longer good or nobody can say."""
        if self._principal is None:
            self._principal = await self._authority.authenticate(self.key)
        return self._principal

    def again(self) -> Caller:
        """The same key, to be judged anew."""
        return Caller(self.key, self._authority)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The key as a service expects it."""
        return (("authorization", f"Bearer {self.key.text}"),)
