"""`gemel evaluate` and `gemel report`: opening the holdout, and the page about what was found."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro  # noqa: TID253 (a command is only imported to be parsed)

if TYPE_CHECKING:
    from gemel.artifacts.evidence import Evidence
    from gemel.outputs.report.page import Picture, Proof
    from gemel.project import Project
    from gemel.store.store import Store

_PAGE, _JSON = "report.html", "evidence.json"
_POLICY_FLAGS = ("robot", "episodes", "variant", "record", "prior")
"""What only a policy has a use for; None unless given, so that even a usual value is noticed."""
_PICTURES = "pictures/twin"
"""Where `gemel run` puts validation frames beside what the twin shows, in the project folder."""
_MOST_PICTURES = 3
"""The rest can be looked at there."""


@dataclass(frozen=True)
class Evaluate:
    """Open the holdout for the project's twin, once, and write evidence.json and report.html. With --policy: run a
    policy in closed loop on a robot instead, and write what happened; the holdout stays closed."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder; with --policy and a stand-in robot any folder for the results."""
    out: Path | None = None
    """Folder for what is written; the project folder, or FOLDER/policy_runs/… with --policy, unless given."""
    again: bool = False
    """Open the holdout once more for a twin that it was opened for before (with other settings); this is counted."""
    policy: Path | None = None
    """A policy that `gemel train` wrote, or `mpc`: strokes that are planned in simulation, without training."""
    robot: str | None = None
    """Where the policy runs: world:push-t (a stand-in arm; world:push-t:3 for another one), or twin (the project's);
    twin unless given."""
    episodes: int | None = None
    """Episodes of the policy; 10 unless given."""
    variant: str | None = None
    """Who tells a conditioned policy about physics: fused (a filter with memory; the default), fused_memoryless,
    history_only (both need encoders beside the policy, and mpc has none), prior_only, or known (the truth, where a
    stand-in has it)."""
    record: Path | None = None
    """Also save the policy's episodes as a LeRobot v3.0 dataset in this new folder; a twin's with all its cameras."""
    prior: tuple[float, float] | None = None
    """What is believed of the policy's first parameter before the first touch: mean and standard deviation, SI units,
    such as 0.04 0.014. Even over the task's range unless given."""

    def run(self) -> int:
        """Evaluate and write."""
        return self._holdout() if self.policy is None else self._in_loop(self.policy)

    def _in_loop(self, policy: Path) -> int:
        """Run the policy; the holdout stays closed."""
        from gemel.commands.evaluate_policy import PolicyRun, evaluate_policy
        from gemel.errors import ConfigError

        if self.again:
            raise ConfigError(
                "--again opens the holdout once more, and with --policy the holdout stays closed.",
                remedy="leave one of the two out",
            )
        return evaluate_policy(
            PolicyRun(
                folder=self.folder,
                policy=policy,
                robot="twin" if self.robot is None else self.robot,
                episodes=10 if self.episodes is None else self.episodes,
                variant=self.variant or "",
                prior=self.prior,
                out=self.out,
                record=self.record,
            )
        )

    def _holdout(self) -> int:
        """Open the holdout and write both files. What could be wrong is asked first: nobody can close it again."""
        from gemel.commands.screen import ScreenReporter
        from gemel.errors import ConfigError
        from gemel.pipeline import evaluate_project
        from gemel.project import open_project
        from gemel.services.formats.target_folder import check_target_folder

        given = [f"--{name}" for name in _POLICY_FLAGS if getattr(self, name) is not None]
        if given:
            raise ConfigError(
                f"Without --policy the holdout would be opened, which has no use for {', '.join(given)}.",
                remedy="say which policy with --policy FILE, or leave them out to open the holdout",
            )
        project, out = open_project(self.folder), self.out or self.folder
        check_target_folder(out)
        results = evaluate_project(project, ScreenReporter(), is_again=self.again)
        return _write(project, results[-1].address, out)


@dataclass(frozen=True)
class Report:
    """Make report.html and evidence.json again from the evidence that is stored; opens nothing."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The project folder."""
    out: Path | None = None
    """Folder for evidence.json and report.html; the project folder unless given."""

    def run(self) -> int:
        """Write both files."""
        from gemel.commands.screen import console
        from gemel.errors import StoreError
        from gemel.in_force import InForce, in_force
        from gemel.project import open_project
        from gemel.services.formats.target_folder import check_target_folder
        from gemel.store.seal import OPENING_STAGE
        from gemel.store.store import Store

        project, out = open_project(self.folder), self.out or self.folder
        check_target_folder(out)
        current = InForce({})
        if (project.store_folder / "ledger.sqlite").exists():
            store = Store.open(project.store_folder)
            current = in_force(project, store)
            store.close()
        if OPENING_STAGE not in current.addresses:
            raise StoreError(
                f"{self.folder} has no evidence yet.", remedy=f"open its holdout with `gemel evaluate {self.folder}`"
            )
        if OPENING_STAGE in current.stale:
            console().print(current.note(OPENING_STAGE), style="yellow")
        return _write(project, current.addresses[OPENING_STAGE], out)


def _write(project: "Project", address: str, out: Path) -> int:
    """Both files, and the main result on the screen."""
    from gemel.artifacts.evidence import Evidence
    from gemel.commands.screen import console
    from gemel.outputs.report.evidence_json import write_evidence
    from gemel.outputs.report.headline import headline
    from gemel.outputs.report.page import report_page
    from gemel.store.store import Store

    store = Store.open(project.store_folder)
    try:
        evidence = store.get(address, Evidence)
        proof = _proof(store, evidence)
    finally:
        store.close()
    name = project.folder.resolve().name
    page = report_page(evidence, name=name, proof=proof, pictures=_pictures(project.folder))
    write_evidence(evidence, out / _JSON)
    (out / _PAGE).write_text(page, encoding="utf-8")
    screen = console()
    screen.print(headline(evidence), style="bold")
    screen.print(
        f"Opening {evidence.opening} of the holdout for this twin, {evidence.openings_of_holdout} for any twin."
    )
    screen.print(f"Wrote {out / _JSON} and {out / _PAGE}")
    return 0 if proof.is_clean else 1


def _proof(store: "Store", evidence: "Evidence") -> "Proof":
    """The audit of the twin that the evidence is about."""
    from gemel.outputs.report.page import Proof
    from gemel.store.audit import audit

    verdict = audit(store, evidence.lineage["assemble"])
    return Proof(
        is_clean=verdict.is_clean,
        holdout=verdict.holdout,
        offences=verdict.offences,
        openings=verdict.openings,
        refusals=verdict.refusal_count,
        ledger_head=verdict.ledger_head,
    )


def _pictures(folder: Path) -> list["Picture"]:
    """The first episode's, one for each camera if there are three."""
    from gemel.outputs.report.page import Picture

    paths = sorted((folder / _PICTURES).glob("*.png"))[:_MOST_PICTURES]
    return [Picture(path.stem.replace("_", " "), path.read_bytes()) for path in paths]
