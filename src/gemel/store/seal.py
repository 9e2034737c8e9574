"""The seal on the holdout: who may read which episode, checked and written down at every read.

An episode is sealed by the fingerprint of its raw numbers, not by its name, so a copy under another name is
sealed as well. Roles are recorded before anything is fitted; an episode that a fitting stage has read can
never become holdout afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gemel.artifacts.capture import EpisodeRecord
from gemel.artifacts.held_out import Opening
from gemel.artifacts.split import Role, Split
from gemel.errors import LeakageError
from gemel.store.ledger import Ledger

PREPARING_STAGES = frozenset({"ingest", "split"})
"""They read everything once, before roles exist: they decide nothing about the twin's numbers."""

OPENING_STAGE = "evaluate"
"""The one stage that may read the holdout."""


@dataclass(frozen=True)
class Roles:
    """The roles in force."""

    split: str
    """Address of the split that set them."""
    capture: str
    number: int
    """Ledger entry that recorded them."""
    role_from_episode: Mapping[str, Role]
    fingerprint_from_episode: Mapping[str, str]

    def sealed_fingerprints(self) -> dict[str, str]:
        """Holdout episode ids by fingerprint."""
        return {
            self.fingerprint_from_episode[episode]: episode
            for episode, role in self.role_from_episode.items()
            if role is Role.HOLDOUT
        }


def current_roles(ledger: Ledger) -> Roles | None:
    """The roles recorded last, or None before the first split."""
    entries = list(ledger.entries("roles"))
    if not entries:
        return None
    body = entries[-1].body
    return Roles(
        split=body["split"],
        capture=body["capture"],
        number=entries[-1].number,
        role_from_episode={episode: Role(role) for episode, role in body["roles"].items()},
        fingerprint_from_episode=body["fingerprints"],
    )


def record_roles(ledger: Ledger, *, split_address: str, capture_address: str, split: Split) -> None:
    """Put a split in force; refused when it would seal an episode that a fitting stage has already read."""
    roles = current_roles(ledger)
    if roles is not None and (roles.split, roles.capture) == (split_address, capture_address):
        return
    _refuse_used_holdout(ledger, split)
    ledger.append(
        "roles",
        {
            "key": split_address,
            "split": split_address,
            "capture": capture_address,
            "roles": {episode: role.value for episode, role in split.role_from_episode.items()},
            "fingerprints": dict(split.fingerprint_from_episode),
        },
    )


def _refuse_used_holdout(ledger: Ledger, split: Split) -> None:
    stage_from_fingerprint = {
        entry.body["fingerprint"]: entry.body["stage"]
        for entry in ledger.entries("read")
        if entry.body["stage"] not in PREPARING_STAGES | {OPENING_STAGE}
    }
    for episode in split.episodes(Role.HOLDOUT):
        fingerprint = split.fingerprint_from_episode[episode]
        if fingerprint in stage_from_fingerprint:
            raise LeakageError(
                f"Episode {episode!r} would become holdout, but stage "
                f"{stage_from_fingerprint[fingerprint]!r} has already read it.",
                remedy="keep the split that was recorded first, or start a new project with `gemel new`",
            )


def open_holdout(ledger: Ledger, *, key: str, split_address: str, twin_address: str, is_again: bool) -> Opening:
    """Write down that the holdout is opened for a twin; a second time for the same twin only when asked for.

    Work that was cut off and goes on under the same `key` is one opening.
    """
    roles = current_roles(ledger)
    if roles is None or roles.split != split_address:
        raise LeakageError(
            "The split whose holdout is to be opened is not the one in force.",
            remedy="run the project again with `gemel run`, then evaluate",
        )
    sealed = sorted(roles.sealed_fingerprints())
    before = [entry for entry in ledger.entries("opened") if entry.body["key"] != key]
    of_twin = [entry for entry in before if entry.body["twin"] == twin_address]
    if of_twin and not is_again:
        raise LeakageError(
            f"The holdout has already been opened for this twin (ledger entry {of_twin[-1].number}, {of_twin[-1].at}), "
            "with other settings or another version of the program.",
            remedy="`gemel report DIR` shows what was found then; `gemel evaluate DIR --again` opens it once more, and "
            "every report says so",
        )
    body = {"key": key, "split": split_address, "twin": twin_address, "fingerprints": sealed}
    ledger.append_unless("opened", body, fields=())
    of_holdout = [entry for entry in before if set(entry.body["fingerprints"]) & set(sealed)]
    return Opening(split_address, twin_address, len(of_twin) + 1, len(of_holdout) + 1)


@dataclass(frozen=True)
class Grant:
    """One stage's permission to read, for one piece of work."""

    ledger: Ledger
    stage: str
    key: str
    """Work key that reads are logged under."""

    def read(self, record: EpisodeRecord, what: str) -> None:
        """Allow and log one kind of read of one episode, or log the refusal and raise `LeakageError`."""
        roles = current_roles(self.ledger)
        role = self._role(record, roles)
        body = {
            "key": self.key,
            "stage": self.stage,
            "episode": record.id,
            "fingerprint": record.fingerprint,
            "role": role,
            "what": what,
        }
        problem = self._problem(record, roles)
        if problem:
            self.ledger.append("refused", body)
            raise LeakageError(problem, remedy=_REMEDY)
        self.ledger.append_unless("read", body, fields=("episode", "what"))

    def _role(self, record: EpisodeRecord, roles: Roles | None) -> str:
        if roles is None:
            return "none yet"
        if record.fingerprint in roles.sealed_fingerprints():
            return Role.HOLDOUT.value
        return roles.role_from_episode.get(record.id, "none yet")

    def _problem(self, record: EpisodeRecord, roles: Roles | None) -> str:
        if self.stage in PREPARING_STAGES or self.stage == OPENING_STAGE:
            return ""
        who = f"Stage {self.stage!r} asked for episode {record.id!r}"
        if roles is None:
            return f"{who}, but no split has been recorded: roles come before fitting."
        sealed_as = roles.sealed_fingerprints().get(record.fingerprint)
        if sealed_as == record.id:
            return f"{who}, whose role is holdout: only {OPENING_STAGE!r} may read it."
        if sealed_as is not None:
            return f"{who}, which is a copy of episode {sealed_as!r}, whose role is holdout."
        if record.id not in roles.role_from_episode:
            return f"{who}, which has no role in the recorded split."
        return ""


_REMEDY = (
    "give the stage `FitData` (calibration and validation episodes) instead; the holdout is read by "
    "`gemel evaluate` alone. The refusal has been written to the ledger"
)
