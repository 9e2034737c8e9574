"""push-hammer: the pushing world with a hammer, whose mass sits in its head."""

from gemel.worlds.push_t import push_scenario
from gemel.worlds.scenario import Scenario


def scenario() -> Scenario:
    """The hammer's world."""
    return push_scenario("push-hammer")
