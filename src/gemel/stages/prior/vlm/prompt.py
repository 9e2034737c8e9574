"""What the model is asked, and the form of its answer."""

from typing import Any

import numpy as np
from jaxtyping import Float

AXES = ("x", "y", "z")
_COLOURS = ("red", "green", "blue")


def prompt_for(extents: Float[np.ndarray, "3"], description: str) -> str:
    """The question about one picture: the axes as they are drawn, the sizes, and what to estimate with which unit."""
    axes = "\n".join(
        f"- {axis}: the {colour} line. Its end with the filled disc is +1, its plain end is -1, its middle is 0. "
        f"From -1 to +1 it is {100.0 * float(size):.1f} cm long."
        for axis, colour, size in zip(AXES, _COLOURS, extents, strict=True)
    )
    named = f" ({description})" if description else ""
    return (
        f"The picture shows an object{named} that lies on a table. Three lines are drawn through the middle of its "
        f"bounding box, along the axes of a coordinate frame:\n{axes}\n"
        "Estimate these physical properties of the object. For each number also give sigma, your honest standard "
        "deviation; a wide sigma is better than a wrong value.\n"
        "- material: the main material, one or two words;\n"
        "- mass_kg: mass in kilograms;\n"
        "- com_x, com_y, com_z: where the centre of mass lies along each line, between -1 and +1;\n"
        "- friction: sliding friction coefficient between the object and the table that it lies on;\n"
        "- restitution: coefficient of restitution when it is dropped on the table, 0 to 1.\n"
        'Answer with one JSON object and nothing else, such as {"material": "...", "mass_kg": {"value": ..., "sigma": '
        '...}, "com_x": {"value": ..., "sigma": ...}, ...}.'
    )


QUANTITIES = ("mass_kg", "com_x", "com_y", "com_z", "friction", "restitution")


def answer_schema() -> dict[str, Any]:
    """JSON schema of an answer, in the subset that strict servers take."""
    number = {"type": "number"}
    estimate = {
        "type": "object",
        "properties": {"value": number, "sigma": number},
        "required": ["value", "sigma"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"material": {"type": "string"}, **dict.fromkeys(QUANTITIES, estimate)},
        "required": ["material", *QUANTITIES],
        "additionalProperties": False,
    }
