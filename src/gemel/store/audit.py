"""Proof, or refutation with the offending path, that no holdout episode is in an artifact.

The proof has six parts: the ledger's chain is whole, and knows every opening that stored Evidence is of; every object
of the lineage still matches its address and is in the ledger; roles were recorded before the first fitting read; no
read behind the artifact touched a holdout episode or a copy of one; nothing was made from what an opening of the
holdout showed; and no two episodes that are alike have different roles.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gemel.artifacts.evidence import Evidence
from gemel.artifacts.split import Role, Split
from gemel.errors import StoreError
from gemel.store.address import short
from gemel.store.ledger import Entry
from gemel.store.lost_openings import lost_openings
from gemel.store.seal import OPENING_STAGE, PREPARING_STAGES
from gemel.store.store import Store


@dataclass(frozen=True)
class LineageStep:
    """One artifact on the way back to the log."""

    address: str
    type: str
    stage: str
    path: str
    """How it is reached from the audited artifact, such as `twin ← reconstruction`."""
    episodes_read: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """The verdict on one artifact."""

    address: str
    type: str
    steps: tuple[LineageStep, ...]
    holdout: tuple[str, ...]
    """Episodes that must not be in it."""
    offences: tuple[str, ...]
    """Empty when the artifact is proved clean; else each offence with its path."""
    accepted: tuple[str, ...]
    """Likenesses across roles that the project declared acceptable."""
    ledger_head: str
    refusal_count: int
    """How often a stage asked for sealed data and was refused."""
    openings: tuple[str, ...] = ()
    """When, and for which twin, the holdout was opened, oldest first."""

    @property
    def is_clean(self) -> bool:
        """Whether the proof went through."""
        return not self.offences


def audit(store: Store, address: str) -> Audit:
    """Walk the lineage of one artifact and check everything that it rests on."""
    steps, offences = [], []
    broken = store.ledger.first_break()
    if broken:
        offences.append(f"the ledger is not as it was written: {broken}")
    offences += [f"the ledger is not as it was written: {words}" for words in lost_openings(store)]
    for step, problems in _walk(store, address):
        steps.append(step)
        offences.extend(problems)
    offences += [f"{step.path}: it was made from what the holdout showed" for step in steps[1:]
                 if step.type == Evidence.__name__]  # fmt: skip
    split_steps = [step for step in steps if step.type == Split.__name__]
    split = store.get(split_steps[0].address, Split) if split_steps else None
    if split is not None:
        offences.extend(_straddling_groups(split))
        offences.extend(_late_roles(store, split_steps[0].address))
        for step in steps:
            offences.extend(_holdout_reads(store, step, split))
    return Audit(
        address=address,
        type=steps[0].type,
        steps=tuple(steps),
        holdout=split.episodes(Role.HOLDOUT) if split else (),
        offences=tuple(dict.fromkeys(offences)),
        accepted=_accepted(split) if split else (),
        ledger_head=store.ledger.head(),
        refusal_count=sum(1 for _ in store.ledger.entries("refused")),
        openings=_openings(store, split) if split else (),
    )


def _openings(store: Store, split: Split) -> tuple[str, ...]:
    """Openings of any episode that is held out now."""
    sealed = {split.fingerprint_from_episode[episode] for episode in split.episodes(Role.HOLDOUT)}
    return tuple(
        f"{entry.at} for twin {short(entry.body['twin'])} (ledger entry {entry.number})"
        for entry in store.ledger.entries("opened")
        if sealed & set(entry.body["fingerprints"])
    )


def _walk(store: Store, address: str) -> Iterator[tuple[LineageStep, list[str]]]:
    """Every artifact behind `address`, nearest first, with what is wrong with its bytes or its record."""
    queue, seen = [(address, "")], set()
    while queue:
        current, path = queue.pop(0)
        if current in seen:
            continue
        seen.add(current)
        try:
            manifest = store.manifest(current)
        except StoreError as error:
            here = f"{path} ← {short(current)}" if path else short(current)
            yield LineageStep(current, "?", "?", here, ()), [f"{here}: {error.problem}"]
            continue
        name = f"{manifest.type} {short(current)}"
        here = f"{path} ← {name}" if path else name
        entry = store.ledger.by_address(current)
        problems = [
            f"{here}: object {short(blob)} is missing or was changed"
            for blob in manifest.blobs()
            if not store.objects.verify(blob)
        ]
        if entry is None:
            problems.append(f"{here}: the ledger has no record of it")
        yield (
            LineageStep(current, manifest.type, manifest.provenance.stage, here, _reads(store, entry)),
            problems,
        )
        queue += [(parent, here) for parent in manifest.provenance.inputs.values()]


def _reads(store: Store, entry: Entry | None) -> tuple[str, ...]:
    if entry is None:
        return ()
    episodes = (read.body["episode"] for read in store.ledger.entries("read", key=entry.body["key"]))
    return tuple(dict.fromkeys(episodes))


def _holdout_reads(store: Store, step: LineageStep, split: Split) -> list[str]:
    """Reads behind one step that touched a holdout episode or a copy of one."""
    if step.stage in PREPARING_STAGES or step.stage == OPENING_STAGE:
        return []
    sealed = {split.fingerprint_from_episode[e]: e for e in split.episodes(Role.HOLDOUT)}
    entry = store.ledger.by_address(step.address)
    reads = store.ledger.entries("read", key=entry.body["key"]) if entry else iter(())
    return [
        f"{step.path} ← read of {read.body['what']} of episode {read.body['episode']!r}, "
        f"which is holdout episode {sealed[read.body['fingerprint']]!r} (ledger entry {read.number})"
        for read in reads
        if read.body["fingerprint"] in sealed
    ]


def _late_roles(store: Store, split_address: str) -> list[str]:
    """Fitting reads that came before this split's roles were recorded."""
    recorded = next((e.number for e in store.ledger.entries("roles", key=split_address)), None)
    if recorded is None:
        return [f"Split {short(split_address)}: its roles were never put in force"]
    return [
        f"stage {read.body['stage']!r} read episode {read.body['episode']!r} (ledger entry {read.number}) "
        f"before any role was recorded"
        for read in store.ledger.entries("read")
        if read.body["role"] == "none yet" and read.body["stage"] not in PREPARING_STAGES
    ]


def _straddling_groups(split: Split) -> list[str]:
    """Alike episodes with different roles, and copies by fingerprint across roles."""
    role_from_fingerprint: dict[str, tuple[str, Role]] = {}
    offences = []
    for episode, role in split.role_from_episode.items():
        fingerprint = split.fingerprint_from_episode[episode]
        first, first_role = role_from_fingerprint.setdefault(fingerprint, (episode, role))
        if Role.HOLDOUT in (role, first_role) and role is not first_role:
            offences.append(f"episode {episode!r} ({role}) is an exact copy of {first!r} ({first_role})")
    roles_of_group: dict[int, dict[Role, str]] = {}
    for episode, role in split.role_from_episode.items():
        roles_of_group.setdefault(split.group_from_episode[episode], {})[role] = episode
    offences += [
        f"alike episodes have different roles: {', '.join(f'{e!r} is {r}' for r, e in roles.items())}"
        for roles in roles_of_group.values()
        if Role.HOLDOUT in roles and len(roles) > 1
    ]
    return offences


def _accepted(split: Split) -> tuple[str, ...]:
    return tuple(
        f"episodes {alike.first!r} and {alike.second!r}: {alike.reason} ({alike.detail})"
        for alike in split.accepted_likenesses
        if split.role_from_episode[alike.first] is not split.role_from_episode[alike.second]
    )
