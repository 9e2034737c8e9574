"""`gemel inspect` finds each imperfection that a log can show when it is on, and not when it is off."""

from dataclasses import replace
from pathlib import Path

import pytest

from gemel.artifacts.inspection import Inspection
from gemel.services.formats.source import open_source
from gemel.stages.ingest.inspect import InspectConfig, inspect
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.record import RecordPlan, record_world
from gemel.worlds.scenario import WorldConfig

FLAWLESS = Imperfections.none()
CODES = {"gaps": "dropped-samples", "offset": "camera-offset", "lag": "action-lag"}


def _inspected(folder: Path, imperfections: Imperfections, *, size: tuple[int, int], episodes: int = 6) -> Inspection:
    config = WorldConfig(
        "push-t", seed=3, size=size, sample_count=2 if size[0] < 60 else 4, imperfections=imperfections
    )
    record_world(config, folder, RecordPlan(episodes=episodes))
    return inspect(open_source(folder), InspectConfig(), robot_joints=None)


def _codes(inspection: Inspection) -> set[str]:
    return {finding.code for finding in inspection.findings}


@pytest.mark.slow
def test_a_flawless_robot_gets_no_complaint(tmp_path: Path) -> None:
    """With everything switched off there are no gaps, no camera offset and no lag."""
    inspection = _inspected(tmp_path / "set", FLAWLESS, size=(64, 48))
    assert not _codes(inspection) & set(CODES.values())
    assert not inspection.has_errors


@pytest.mark.slow
def test_late_cameras_are_found(tmp_path: Path) -> None:
    """Frames that are 0.15 s old are reported as such, within half a control period."""
    inspection = _inspected(tmp_path / "set", replace(FLAWLESS, camera_delay_s=0.15), size=(64, 48))
    found = [finding for finding in inspection.findings if finding.code == CODES["offset"]]
    assert found
    assert all(finding.value == pytest.approx(-0.15, abs=0.05) for finding in found)
    assert not _codes(inspection) & {CODES["gaps"], CODES["lag"]}


@pytest.mark.slow
def test_lag_and_gaps_are_found(tmp_path: Path) -> None:
    """An actuator lag of 0.1 s is measured to 25 ms, and lost samples are counted, when both are on."""
    imperfections = replace(FLAWLESS, actuator_lag_s=0.1, dropped_frames=0.04)
    inspection = _inspected(tmp_path / "set", imperfections, size=(32, 24), episodes=3)
    lag = next(finding for finding in inspection.findings if finding.code == CODES["lag"])
    assert lag.value == pytest.approx(0.1, abs=0.025)
    assert CODES["gaps"] in _codes(inspection)
