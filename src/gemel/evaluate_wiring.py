"""How evaluate is wired: the one place where the holdout is opened, tracked and handed over.

Order matters. What settings say is checked while the holdout is closed. The seal writes down the opening before
anything is read (`store/seal.py: open_holdout`), and refuses a second one for the same twin unless it was asked for.
Only then is a reader made, in the name of `evaluate`, which is the only stage whose reader the seal lets through to
held-out episodes. With that reader objects are followed in them: `track` and `evaluate` are stages and do not know
each other, so they meet here. What comes of it goes into the Evidence and nowhere else; the tracks are not stored,
and nothing that fits can take Evidence (`gemel audit` would refute it).
"""

from dataclasses import replace

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.artifacts.capture import Capture
from gemel.artifacts.evidence import Evidence
from gemel.artifacts.finding import Finding
from gemel.artifacts.held_out import HeldOutData
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.artifacts.track import Tracks
from gemel.artifacts.twin import Twin
from gemel.errors import SourceError
from gemel.running import OnProgress, Run
from gemel.services.formats.mask_tracks import MaskReader
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.sim.contacts import stored_tool_labels
from gemel.stages.evaluate.instruments import make_instruments
from gemel.stages.evaluate.stage import check_any, evaluate
from gemel.stages.prior.config import PriorConfig
from gemel.stages.prior.stage import prior
from gemel.stages.track.stage import track_episodes
from gemel.store.seal import OPENING_STAGE, open_holdout

_TRACKING = 0.7
"""Part of the time that goes into tracking."""


def make_evidence(
    run: Run, key: str, on_progress: OnProgress, *, is_again: bool
) -> tuple[Evidence, tuple[Finding, ...]]:
    """Open the holdout for the twin, track it, and hold the twin against it."""
    capture, split, twin = run.get("ingest", Capture), run.get("split", Split), run.get("assemble", Twin)
    if not twin.colliders and not any(twin.joints):
        raise SourceError(
            "The twin has neither objects nor joints that were logged, so nothing can be held against the holdout.",
            remedy="segment and reconstruct an object, or give the robot's model in twin.toml, then `gemel run`",
        )
    # All that settings say is checked here, and all that needs no held-out data is made: nobody can close it again.
    config, held_out = run.project.settings.evaluate, HeldOutData.of(capture, split)
    check_any(held_out)
    instruments = make_instruments(
        twin, config, joints=capture.joints, action_names=capture.action_names, action_units=capture.action_units,
        blobs=run.store,
    )  # fmt: skip
    nominal = _nominal(run, capture)
    opening = open_holdout(
        run.store.ledger,
        key=key,
        split_address=run.addresses["split"],
        twin_address=run.addresses["assemble"],
        is_again=is_again,
    )
    tracks, track_findings = _held_out_tracks(run, key, held_out, lambda part: on_progress(_TRACKING * part))
    known = run.get("track", Tracks)
    both = Tracks((*tracks.tracks, *known.tracks), tracks.source)
    tracked = {track.episode for track in both.tracks}
    alike = (*split.likenesses, *split.accepted_likenesses)
    evidence, info = evaluate(
        held_out,
        twin,
        config,
        instruments=instruments,
        prior=run.get("draft", Twin).belief,
        nominal=nominal,
        tracks=both,
        frames=run.frames(capture, OPENING_STAGE, key),
        blobs=run.store,
        rng=np.random.default_rng([run.project.settings.seed, 7]),
        opening=opening,
        lineage=dict(run.addresses),
        repeats=[(pair.first, pair.second) for pair in alike if {pair.first, pair.second} <= tracked],
        on_progress=lambda part: on_progress(_TRACKING + (1.0 - _TRACKING) * part),
    )
    return evidence, (*track_findings, *info.findings)


def _held_out_tracks(
    run: Run, key: str, held_out: HeldOutData, on_progress: OnProgress
) -> tuple[Tracks, tuple[Finding, ...]]:
    """Objects in the held-out episodes, followed as in all others."""
    capture = run.get("ingest", Capture)
    tracks, info = track_episodes(
        held_out.episodes,
        FitData.of(capture, run.get("split", Split)),
        run.get("reconstruct", Reconstruction),
        replace(run.project.settings.track, episodes=()),
        mask_of=MaskReader(run.get("segment", Segmentation), run.store),
        frames=run.frames(capture, OPENING_STAGE, key),
        robot=compile_stored_robot(capture.robot, run.store) if capture.robot is not None else None,
        on_progress=on_progress,
    )
    return tracks, info.findings


def _nominal(run: Run, capture: Capture) -> Belief:
    """What shapes alone say: the `geometry` prior, without labels, measurements or the task's ranges."""
    config = PriorConfig(kind="geometry", samples=run.project.prior_config().samples)
    belief, _ = prior(
        run.get("reconstruct", Reconstruction),
        config,
        blobs=run.store,
        rng=np.random.default_rng([run.project.settings.seed, 5]),
        tools=stored_tool_labels(capture.robot, run.store),
    )
    return belief
