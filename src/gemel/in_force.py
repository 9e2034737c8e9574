"""Which artifacts of a project count now: those that `gemel status` calls done, not simply those that were made last.

A setting that was tried and taken back leaves newer artifacts behind than those that belong to the settings. A stage
that is stale has none in force: then the last one that was made is taken, and whoever takes it is told.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gemel.artifacts.twin import Twin
from gemel.errors import GemelError, StoreError
from gemel.pipeline import project_status
from gemel.project import Project
from gemel.store.address import short
from gemel.store.store import Store

_TWIN = "assemble"


@dataclass(frozen=True)
class InForce:
    """What counts now."""

    addresses: Mapping[str, str]
    """By stage; a stage that never made anything is absent."""
    stale: tuple[str, ...] = ()
    """Stages of which the last artifact is taken, since none is known to be in force."""
    why: str = ""
    """What the matter is with those."""

    def note(self, *stages: str) -> str:
        """What to tell whoever takes artifacts of these stages, or of any; empty where all is well."""
        stale = [name for name in self.stale if not stages or name in stages]
        named = ", ".join(f"{name} {short(self.addresses[name])}" for name in stale)
        return f"Not known to be in force, so that the last one made is taken: {named}. {self.why}" if stale else ""


@dataclass(frozen=True, eq=False)
class TwinInForce:
    """The twin that counts now, and what it was made from."""

    twin: Twin
    address: str
    addresses: Mapping[str, str]
    """Of all stages, those behind the twin as its provenance has them."""
    note: str
    """Why it may not be the one that is wanted; empty where all is well."""


def in_force(project: Project, store: Store) -> InForce:
    """The artifact of each stage, and notes on those that are not what the project would make now."""
    made: dict[str, list[str]] = {}
    for entry in store.ledger.entries("artifact"):
        made.setdefault(entry.body["stage"], []).append(str(entry.body["address"]))
    done, why = _done(project)
    last = {stage: _last_whole(store, addresses) for stage, addresses in made.items() if stage not in done}
    found = {stage: address for stage, address in last.items() if address}
    return InForce(found | done, tuple(found), why)


def twin_in_force(project: Project, store: Store) -> TwinInForce:
    """The twin of a project; refused where none was made."""
    current = in_force(project, store)
    if _TWIN not in current.addresses:
        raise StoreError(
            f"{project.folder} has no twin yet: nothing has been assembled.",
            remedy=f"run `gemel run {project.folder}` first",
        )
    address = current.addresses[_TWIN]
    behind = dict(current.addresses) | _lineage(store, address) | {_TWIN: address}
    return TwinInForce(store.get(address, Twin), address, behind, current.note(_TWIN))


def _done(project: Project) -> tuple[dict[str, str], str]:
    """Addresses that are in force by stage, and what the matter is with all others."""
    try:
        rows = project_status(project)
    except GemelError as error:  # such as a log that is elsewhere now: what was made of it is still good to use
        return {}, f"Nobody can tell: {error.problem}"
    stale = (
        "Inputs, settings or Gemel changed since (see `gemel status`): `gemel run` or `gemel evaluate` makes it anew."
    )
    return {row.name: row.address for row in rows if row.state == "done"}, stale


def _last_whole(store: Store, addresses: list[str]) -> str:
    return next((address for address in reversed(addresses) if store.is_complete(address)), "")


def _lineage(store: Store, address: str) -> dict[str, str]:
    """Everything that an artifact was made from, by stage."""
    found: dict[str, str] = {}
    for stage, parent in store.manifest(address).provenance.inputs.items():
        found |= {stage: parent} | _lineage(store, parent)
    return found
