"""The machine: every rule, and after each step what the database holds against what should be so.

Each rule asks its guard of the model, makes the real call, and asserts that it was taken if and only if the guard holds. What must be so in
whatever order steps come, and where that is looked at:

I1   a proposal has one effect at most                                  `_has_its_effect_only`
I2   an effect was approved by its owner, who had access at that moment `_has_its_effect_only`, `_is_signed`; guard `Model.finish`
I3   nothing that ended otherwise has an effect                         `_has_its_effect_only`
I4   an approval stands on a confirmation that was live, unused and bound to it, by somebody with access, about the bytes stored and shown
                                            guards of `decide`, `decide_plainly`; `_is_signed`, `_stands_where_it_should`
I5   a decision has its proposal, and what was filed never changes      `_never_changes`
I6   a confirmation exists where its card was shown, and is good only while the proposal is undecided
                                            `_nothing_was_written_beside_it`; guards of `check`, `decide`, `press_twice`
I7   a matter holds no more undecided proposals than it may             `_nothing_was_written_beside_it`; guards of `file`, `supersede`
I8   replacements make straight chains of one owner in one matter       `_chains_are_straight`; guard of `supersede`
I9   what an agent does changes nothing but rows of proposals and links `_nothing_was_written_beside_it`
I10  claims, steals and ends are fenced, and a forged decision has no effect
                                            guards of `claim_and_die`, `come_back`; `_stands_where_it_should`, `_is_signed`
I11  whatever was acknowledged can be read                              `what_is_stored_is_what_should_be`; `_keep`
I12  in a batch each stands or falls by itself, and none that is to be decided alone
                                            guard of `decide_selected`
I13  no receipt says executed, and no answer before it was              `_keep`, guards of `file_again`, `ask_status`
"""

from __future__ import annotations

import uuid

from hypothesis.stateful import invariant

from kit import decisions, limits
from kit.db import Record
from services.approvals import tokens
from tests.property.machine.agents import BALLAST_KEY
from tests.property.machine.house import HouseRules, decision_of
from tests.property.machine.model import Filed


class ProposalMachine(HouseRules):
    """Every rule checks its guard; this checks what stands afterwards."""

    @invariant()
    def what_is_stored_is_what_should_be(self) -> None:
        found = self.world.do(self.world.ask("everything", ballast_key=BALLAST_KEY, audited_before=self.audited_before))
        self._nothing_was_written_beside_it(found[0])
        rows = [row for row in found if row["id"] is not None]
        assert {row["id"] for row in rows} == set(self.model.filed), "I11: every acknowledged proposal has a row, and nothing else has one"
        for row in rows:
            p = self.model.filed[row["id"]]
            self._never_changes(row, p)
            self._stands_where_it_should(row, p)
            self._has_its_effect_only(row, p)
            if row["decision"] is not None and p.id not in self.verified:
                self._is_signed(row, p)
        self._chains_are_straight(rows)

    def _nothing_was_written_beside_it(self, counts: Record) -> None:
        every = self.model.filed.values()
        effects = sum(p.effects for p in every)
        assert counts["all_decided"] == self.model.decisions, "I9"
        assert counts["all_decisions"] == self.model.decisions + sum(p.forged for p in every), "I9"
        assert counts["all_withdrawals"] == sum(p.ended == "withdrawn" for p in every), "I9"
        assert counts["all_executions"] == sum(p.execution is not None for p in every), "I9"
        assert counts["all_effects"] == counts["all_provenance"] == counts["all_done"] == effects, "I9"
        assert counts["all_retries"] == self.model.retries, "I9"
        assert (counts["all_links"], counts["all_answers"]) == (
            len(self.model.links),
            sum(k.answer is not None for k in self.model.links),
        ), "I9"
        assert set(counts["all_nonces"] or ()) == {tokens.hashed(nonce.text) for nonce in self.model.nonces}, "I6"
        assert counts["fullest"] <= limits.UNDECIDED_PROPOSALS_PER_MATTER, "I7"

    def _never_changes(self, row: Record, p: Filed) -> None:
        stored = (row["key_id"], row["owner_id"], row["case_id"], row["action"], row["args"], row["args_digest"], row["supersedes"])
        key, owner, case = self.world.keys[p.key].id, self.world.people[p.person], self.world.matters[p.case]
        assert stored == (key, owner, case, p.kind.action, p.args, p.digest, p.supersedes), "I5"

    def _stands_where_it_should(self, row: Record, p: Filed) -> None:
        assert (row["state"], row["superseded_by"]) == (self.model.state(p), p.successor), "I3, I8"
        assert (row["nonce_hash"], row["nonces_used"], row["nonces_wrong"]) == (p.nonce_hash, int(p.nonce_hash is not None), 0), "I4, I6"
        held = p.execution
        assert (row["fence"], row["attempts"], row["outcome"]) == ((held.fence, held.attempts, held.outcome) if held else (None,) * 3), (
            "I10"
        )

    def _has_its_effect_only(self, row: Record, p: Filed) -> None:
        assert row["effects"] == row["provenance"] == p.effects <= 1, "I1, I2"
        if row["effects"]:
            assert row["state"] == "approved", "I3"
            assert row["decided_by"] == self.world.people[p.person], "I2"
            assert row["outcome"] == "done", "I10"

    def _is_signed(self, row: Record, p: Filed) -> None:
        """Decided about the stored bytes by whoever owns it, as it was shown to them, under the key of approvals; a forgery is not."""
        assert row["decided_digest"] == p.digest, "I4"
        signed = decisions.verify(self.world.key.public_key(), decision_of(row, p.id), row["signature"])
        assert signed is not p.forged, "I10"
        if signed:
            seen = {shown for _, shown in self.seen[p.person, p.id].values()}
            assert (row["decided_by"], row["shown_sha256"] in seen) == (self.world.people[p.person], True), "I2, I4"
        self.verified.add(p.id)

    def _chains_are_straight(self, rows: list[Record]) -> None:
        """No circles; one owner, one matter; whatever was replaced stays replaced."""
        by_id = {row["id"]: row for row in rows}
        for row in rows:
            met: set[uuid.UUID] = set()
            at = row
            while at["supersedes"] is not None:
                assert at["id"] not in met, "I8"
                met.add(at["id"])
                before = by_id[at["supersedes"]]
                assert (before["owner_id"], before["case_id"], before["state"]) == (at["owner_id"], at["case_id"], "superseded"), "I8"
                at = before
