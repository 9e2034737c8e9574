"""What is drawn for an episode, and what cannot be."""

from dataclasses import fields, replace

import numpy as np
import pytest

from gemel.artifacts.camera import Camera
from gemel.errors import ConfigError
from gemel.geometry import SE3, Pinhole
from gemel.services.policy.randomisation import Randomisation, checked_randomisation, draw_cameras

CAMERAS = [
    Camera(name, 8, 6, Pinhole(8, 6, 8.0, 8.0, 4.0, 3.0), T_parent_camera=SE3.identity()) for name in ("front", "side")
]


def test_all_cameras_look_at_one_light_each_with_colours_of_its_own() -> None:
    rng = np.random.default_rng(0)
    lit = replace(Randomisation.none(), light=0.3)
    first, second = draw_cameras(CAMERAS, lit, rng)
    assert first.gain == second.gain
    assert first.gain[0] != 1.0
    assert draw_cameras(CAMERAS, lit, rng)[0].gain != first.gain
    first, second = draw_cameras(CAMERAS, replace(Randomisation.none(), colour=0.3), rng)
    assert len({*first.gain, *second.gain}) == 6


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1])
def test_deviations_that_are_none_are_refused(value: float) -> None:
    for field in fields(Randomisation):
        if field.name != "is_physics":
            with pytest.raises(ConfigError, match=f"{field.name} of the randomisation is"):
                Randomisation(**{field.name: value})


def test_delays_over_a_second_are_refused() -> None:
    assert Randomisation(delay_s=1.0).delay_s == 1.0
    with pytest.raises(ConfigError, match="at most 1"):
        Randomisation(delay_s=20.0)


def test_nothing_is_drawn_where_nothing_is_wanted() -> None:
    assert not any(getattr(Randomisation.none(), field.name) for field in fields(Randomisation))


def test_what_is_no_randomisation_is_refused() -> None:
    with pytest.raises(ConfigError, match="randomisation is 5; a `Randomisation` was expected"):
        checked_randomisation(5)
    assert checked_randomisation(None) == Randomisation()
