from gemel.store import code_version as module
from gemel.store.code_version import _imports, code_version


def test_the_closure_follows_imports_inside_functions() -> None:
    """Readers that are imported where they are used count as code of the stage that uses them."""
    closure, queue = set(), ["gemel.stages.ingest.stage"]
    while queue:
        name = queue.pop()
        if name not in closure:
            closure.add(name)
            queue += _imports(name)
    assert "gemel.services.formats.lerobot_reader" in closure
    assert "gemel.geometry.so3" in closure
    assert not any(name.startswith("gemel.stages.split") for name in closure)


def test_a_change_below_changes_the_version_and_a_change_elsewhere_does_not(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Only code that the stage can reach decides whether it runs again."""
    before_ingest, before_split = code_version("gemel.stages.ingest.stage"), code_version("gemel.stages.split.stage")
    original = module._source_hash
    monkeypatch.setattr(module, "_source_hash", lambda name: "x" if name.endswith("ingest.clock") else original(name))
    code_version.cache_clear()
    try:
        assert code_version("gemel.stages.ingest.stage") != before_ingest
        assert code_version("gemel.stages.split.stage") == before_split
    finally:
        code_version.cache_clear()
