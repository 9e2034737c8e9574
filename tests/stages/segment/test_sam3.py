"""SAM 3 through its real loading code, with a checkpoint of half a million random weights."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.stages.segment.config import ObjectPrompt, PointPrompt
from gemel.stages.segment.guess import Wanted, key_of
from gemel.stages.segment.view import View

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

pytestmark = pytest.mark.slow
_SIZE, _PATCH = 64, 8
_WORDS = ("orange", "block", "mug")


def _vision() -> Any:
    backbone = transformers.Sam3ViTConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=_SIZE,
        patch_size=_PATCH, window_size=4, global_attn_indexes=[1], pretrain_image_size=_SIZE,
    )  # fmt: skip
    return transformers.Sam3VisionConfig(
        backbone_config=backbone, fpn_hidden_size=128, backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]]
    )


def _config() -> Any:
    small = {"hidden_size": 128, "num_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    text = transformers.CLIPTextConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, projection_dim=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=16, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    detector = transformers.Sam3Config(
        vision_config=_vision(), text_config=text, geometry_encoder_config=small, detr_encoder_config=small,
        detr_decoder_config={**small, "num_queries": 6},
        mask_decoder_config={"hidden_size": 128, "num_attention_heads": 2},
    )  # fmt: skip
    tracker = transformers.Sam3TrackerVideoConfig(
        vision_config=_vision(), image_size=_SIZE,
        prompt_encoder_config={"hidden_size": 128, "image_size": _SIZE, "patch_size": _PATCH},
        mask_decoder_config={"hidden_size": 128, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 32},
        memory_attention_hidden_size=128, memory_attention_num_layers=1, memory_attention_feed_forward_hidden_size=32,
        memory_encoder_hidden_size=128, memory_encoder_output_channels=64, mask_downsampler_embed_dim=128,
        memory_fuser_embed_dim=128, memory_fuser_intermediate_dim=32, memory_fuser_num_layers=1, num_maskmem=3,
    )  # fmt: skip
    return transformers.Sam3VideoConfig(detector_config=detector, tracker_config=tracker, det_nms_thresh=0.0)


def _save_tokenizer(folder: Path) -> None:
    """CLIP's tokenizer with a vocabulary of the letters and of three words, in the files in which CLIP has it."""
    letters = list("abcdefghijklmnopqrstuvwxyz")
    merges, pieces = [], []
    for word in _WORDS:
        parts = [*word[:-1], word[-1] + "</w>"]
        while len(parts) > 1:
            merges.append(f"{parts[0]} {parts[1]}")
            parts = [parts[0] + parts[1], *parts[2:]]
            pieces.append(parts[0])
    vocabulary = ["<|startoftext|>", "<|endoftext|>", *letters, *(c + "</w>" for c in letters[:10]), *pieces]
    ends = [c + "</w>" for c in {word[-1] for word in _WORDS}]
    vocabulary = list(dict.fromkeys([*vocabulary, *ends]))
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(dict.fromkeys(merges)) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CLIPTokenizer"}))


def _save(folder: Path, *, is_there: float) -> Any:
    """A checkpoint as facebook/sam3 is laid out; the logit that anything is there is set, all else is random."""
    torch.manual_seed(0)
    model = transformers.Sam3VideoModel(_config())
    with torch.no_grad():
        torch.nn.init.constant_(model.detector_model.detr_decoder.presence_head.layer3.bias, is_there)
        for layer in (model.detector_model.dot_product_scoring.text_proj,
                      model.detector_model.dot_product_scoring.query_proj):  # fmt: skip
            torch.nn.init.constant_(layer.bias, 1.0)
    model.save_pretrained(folder)
    _save_tokenizer(folder)
    return model.eval()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    folder = tmp_path_factory.mktemp("sam3")
    return str(folder), _save(folder, is_there=4.0)


def _views(count: int = 5) -> list[View]:
    rng = np.random.default_rng(0)
    return [View("0", "front", i, rng.integers(0, 255, (36, 48, 3), dtype=np.uint8), True) for i in range(count)]


def test_words_find_what_the_whole_model_finds(tiny: tuple[str, Any]) -> None:
    """Score and mask of the surest instance are those of transformers' own text route, and change with the words."""
    from gemel.stages.segment.backends.sam_checkpoint import load_sam
    from gemel.stages.segment.backends.sam_text import surest_instance

    folder, whole = tiny
    checkpoint = load_sam(folder)
    assert checkpoint.detector is not None
    (view, *_) = _views()
    score, mask = surest_instance(checkpoint, checkpoint.detector, view, "orange block")
    pixels = checkpoint.prepared([view.image])
    session = transformers.models.sam3_video.modeling_sam3_video.Sam3VideoInferenceSession(
        pixels, *view.size, dtype=torch.float32
    )
    prompt = session.add_prompt("orange block")
    text = checkpoint.detector.tokenizer("orange block", return_tensors="pt", padding="max_length", max_length=16)
    session.prompt_input_ids[prompt], session.prompt_attention_masks[prompt] = text.input_ids, text.attention_mask
    with torch.inference_mode():
        seen = whole.detector_model.get_vision_features(pixel_values=pixels)
        found = whole.run_detection(session, seen)[prompt]
    best = int(found["scores"].argmax())
    low = torch.nn.functional.interpolate(found["mask"][best][None, None], view.size, mode="bilinear")[0, 0]
    assert score == pytest.approx(float(found["scores"][best]), abs=1e-5)
    assert np.array_equal(mask, (low > 0).numpy())
    assert score != surest_instance(checkpoint, checkpoint.detector, view, "mug")[0]


def test_an_object_with_words_only_is_segmented(tiny: tuple[str, Any]) -> None:
    """Every frame gets a mask of its size; the words' own mask went into the video as if it had been painted."""
    from gemel.stages.segment.backends.sam import SamSegmenter
    from gemel.stages.segment.backends.sam_checkpoint import load_sam
    from gemel.stages.segment.backends.sam_text import find_by_words

    folder, _ = tiny
    views = _views()
    sam = SamSegmenter(folder, full_width={"front": 48})
    guesses = sam(views, Wanted("block", ObjectPrompt("orange block"), {}), lambda fraction: None)
    assert [g.mask.shape for g in guesses] == [(36, 48)] * len(views)
    checkpoint = load_sam(folder)
    assert checkpoint.detector is not None
    found = find_by_words(checkpoint, checkpoint.detector, views, "orange block")
    assert found is not None
    painted = sam(views, Wanted("block", ObjectPrompt(), {key_of(views[found[0]]): found[1]}), lambda fraction: None)
    others = [i for i in range(len(views)) if i != found[0]]
    assert all(np.array_equal(guesses[i].mask, painted[i].mask) for i in others)


def test_points_and_painted_masks_still_decide(tiny: tuple[str, Any]) -> None:
    """Where a person pointed or painted, the words are not asked: a correction counts more than a detection."""
    from gemel.stages.segment.backends.sam import SamSegmenter

    views = _views()
    sam = SamSegmenter(tiny[0], full_width={"front": 48})
    point = PointPrompt("front", "0", 2, (20.0, 10.0))
    for words in ("", "mug"):
        guesses = sam(views, Wanted("mug", ObjectPrompt(words, points=(point,)), {}), lambda fraction: None)
        if not words:
            first = guesses
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(first, guesses, strict=True))


def test_words_that_name_nothing_give_empty_masks_that_nothing_relies_on(tmp_path: Path) -> None:
    """When the detector sees no such thing, no frame gets a mask, and none is trusted."""
    from gemel.stages.segment.backends.sam import SamSegmenter

    _save(tmp_path, is_there=-6.0)
    sam = SamSegmenter(str(tmp_path), full_width={"front": 48})
    guesses = sam(_views(3), Wanted("mug", ObjectPrompt("mug"), {}), lambda fraction: None)
    assert not any(g.mask.any() for g in guesses)
    assert {g.confidence for g in guesses} == {0.0}


def test_a_checkpoint_without_its_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    """A half-copied folder names itself and what would do."""
    from gemel.errors import SourceError
    from gemel.stages.segment.backends.sam_checkpoint import load_sam

    _save(tmp_path, is_there=0.0)
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    with pytest.raises(SourceError, match="no checkpoint that can be read"):
        load_sam(str(tmp_path))
