"""All questions about one object: pictures times queries, a few at a time, given up early when nobody answers."""

import base64
import hashlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from gemel.errors import ConfigError
from gemel.services.formats.image_file import encode_png
from gemel.stages.prior.config import Matter, VlmConfig
from gemel.stages.prior.material_table import FRICTION_BOUNDS, RESTITUTION_BOUNDS, material_table
from gemel.stages.prior.model import AEROGEL_KG_M3, OSMIUM_KG_M3
from gemel.stages.prior.solid import Solid
from gemel.stages.prior.vlm.answer import Answer, read_answer
from gemel.stages.prior.vlm.client import Chat, Reply
from gemel.stages.prior.vlm.picture import ObjectPicture, marked
from gemel.stages.prior.vlm.prompt import answer_schema, prompt_for

_GIVE_UP_AFTER = 3
"""Failed questions after which the rest is not asked, as long as none was answered."""
_FAILURES = ("timeout", "unreachable", "rate-limited", "not-asked")


@dataclass(frozen=True)
class Question:
    """One picture shown once, and what came of it."""

    picture: str
    """Camera, episode and step."""
    query: int
    reply: Reply
    answer: Answer


@dataclass(frozen=True)
class Asked:
    """Everything that was asked about one object."""

    object: str
    url: str
    model: str
    prompt: str
    questions: tuple[Question, ...]

    @property
    def good(self) -> tuple[Answer, ...]:
        """Answers of which at least one number can be used."""
        return tuple(question.answer for question in self.questions if question.answer.status == "ok")

    @property
    def is_reached(self) -> bool:
        """Whether the server answered at all."""
        return any(not _is_failure(question.reply) for question in self.questions)

    @property
    def material(self) -> str:
        """The material that most answers name and the table knows; empty without one."""
        names = Counter(name for answer in self.good if (name := _known_material(answer.material)))
        return names.most_common(1)[0][0] if names else ""

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many questions came to what."""
        return Counter(question.answer.status for question in self.questions)

    def record(self) -> dict[str, Any]:
        """For the store: the prompt, its hash, and every raw answer."""
        return {**asdict(self), "prompt_sha256": hashlib.sha256(self.prompt.encode()).hexdigest()}


def ask(
    name: str, solid: Solid, matter: Matter, pictures: Sequence[ObjectPicture], chat: Chat, config: VlmConfig
) -> Asked:
    """Show every picture `config.queries` times; the model is told what the user says of the object."""
    prompt, limits, schema = prompt_for(solid.extents, _description(name, matter)), _limits(solid), answer_schema()
    urls = [_data_url(encode_png(marked(picture, solid.extents))) for picture in pictures]
    answered, failed = threading.Event(), _Counter()

    def one(job: tuple[int, int]) -> Question:
        k, query = job
        if failed.value >= _GIVE_UP_AFTER and not answered.is_set():
            reply = Reply("not-asked", "the server had not answered before", 0)
        else:
            reply = chat.ask(prompt, urls[k], schema)
        if _is_failure(reply):
            failed.add()
        else:
            answered.set()
        answer = read_answer(reply.text, limits) if reply.status == "answered" else Answer(reply.status)
        return Question(pictures[k].label, query, reply, answer)

    jobs = [(k, query) for query in range(config.queries) for k in range(len(pictures))]
    with ThreadPoolExecutor(max_workers=config.concurrency) as pool:
        questions = tuple(pool.map(one, jobs))
    return Asked(name, chat.url, chat.model, prompt, questions)


def _description(name: str, matter: Matter) -> str:
    """Such as `hammer, made of wood, its +x end of steel`."""
    made = f", made of {matter.material}" if matter.material else ""
    return name.replace("_", " ") + made + "".join(f", its {p.where} end of {p.material}" for p in matter.parts)


class _Counter:
    """Counts from several threads."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self.value += 1


def _limits(solid: Solid) -> dict[str, tuple[float, float]]:
    """What is possible, in the units of the question."""
    mass = (AEROGEL_KG_M3 * solid.volume_m3, OSMIUM_KG_M3 * solid.volume_m3)
    along = dict.fromkeys(("com_x", "com_y", "com_z"), (-1.0, 1.0))
    return {"mass_kg": mass, **along, "friction": FRICTION_BOUNDS, "restitution": RESTITUTION_BOUNDS}


def _is_failure(reply: Reply) -> bool:
    return reply.status in _FAILURES or reply.status.startswith("http-")


def _known_material(name: str) -> str:
    """The table's name for what a model calls a material: as a whole, or its last word that the table knows."""
    for word in (name, *reversed(name.replace(",", " ").split())):
        try:
            return material_table().find(word, where="the model's answer").name
        except ConfigError:
            continue
    return ""


def _data_url(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()
