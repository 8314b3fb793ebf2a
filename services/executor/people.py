"""Asks auth, at the moment of acting, whether the person who decided still may act in the matter."""

from __future__ import annotations

import uuid

from substrate.auth.v1 import person_service_pb2 as pb

from kit import config
from kit.client import channel, method

GONE = "The person who approved this is not known here any more, so nothing was done."
NOT_THEIRS = "The person who approved this may no longer act in the matter, so nothing was done. Somebody who may has to decide anew."


class People:
    """Client of auth's PersonService."""

    def __init__(self, auth: config.Peer, tls: config.Tls) -> None:
        self._channel = channel(auth.address, "auth", tls)
        self._get = method(self._channel, "/substrate.auth.v1.PersonService/GetPerson", pb.GetPersonResponse)

    async def objection(self, user_id: uuid.UUID, case_id: uuid.UUID) -> str | None:
        """Why this person's decision may not be carried out in this matter now; None where it may. Raises where auth does not answer."""
        answer = await self._get(pb.GetPersonRequest(user_id=str(user_id)))
        assert isinstance(answer, pb.GetPersonResponse)
        if not answer.HasField("person") or answer.person.id != str(user_id):
            return GONE
        return None if str(case_id) in answer.person.case_ids else NOT_THEIRS

    async def close(self) -> None:
        """Closes the channel."""
        await self._channel.close()
