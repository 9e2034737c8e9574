"""Back ends with weights or files, through their real loading code and tiny models."""

from pathlib import Path

import numpy as np
import pytest

from gemel.errors import ConfigError, SourceError
from gemel.stages.segment.backends.file import FileSegmenter
from gemel.stages.segment.config import BoxPrompt, ObjectPrompt, PointPrompt, SegmentConfig
from gemel.stages.segment.guess import Wanted, key_of
from gemel.stages.segment.view import View
from stages.made_captures import MadeEpisode, MadeFrames


def _views(count: int = 4, camera: str = "front") -> list[View]:
    rng = np.random.default_rng(0)
    return [View("0", camera, i, rng.integers(0, 255, (36, 48, 3), dtype=np.uint8), True) for i in range(count)]


def _frames() -> MadeFrames:
    """A log without masks."""
    return MadeFrames([MadeEpisode("0")])


def test_file_masks_are_handed_out_and_missing_ones_are_not_relied_on() -> None:
    """A mask of the folder has full confidence; a frame without one has none."""
    views = _views()
    true = np.zeros((36, 48), dtype=np.uint8)
    true[10:20, 10:30] = 255
    files = FileSegmenter(_frames(), lambda name, key: true if key[2] < 3 else None)
    guesses = files(views, Wanted("mug", ObjectPrompt(), {}), lambda fraction: None)
    assert np.array_equal(guesses[0].mask, true > 0)
    assert [g.confidence for g in guesses] == [1.0, 1.0, 1.0, 0.0]


def test_file_masks_of_another_shape_are_refused_by_name() -> None:
    """A mask that cannot belong to its image names the frame and both sizes."""
    files = FileSegmenter(_frames(), lambda name, key: np.zeros((48, 36), dtype=np.uint8))
    with pytest.raises(SourceError, match="camera front, step 0 has 36 x 48"):
        files(_views(), Wanted("mug", ObjectPrompt(), {}), lambda fraction: None)


def test_no_mask_at_all_is_an_error() -> None:
    """`file` without any file says where they would be looked for."""
    files = FileSegmenter(_frames(), lambda name, key: None)
    with pytest.raises(SourceError, match="no mask of 'mug'"):
        files(_views(), Wanted("mug", ObjectPrompt(), {}), lambda fraction: None)


def test_isnet_runs_an_onnx_file(tmp_path: Path) -> None:
    """A network that passes the red channel through selects the red thing, at the image's size."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from gemel.stages.segment.backends.isnet import IsnetSegmenter

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    red = helper.make_tensor("w", kind, [1, 3, 1, 1], [1.0, -1.0, 0.0])
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "w"], ["out"])], "red",
        [helper.make_tensor_value_info("image", kind, [1, 3, 64, 64])],
        [helper.make_tensor_value_info("out", kind, [1, 1, 64, 64])], [red],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "red.onnx")
    image = np.full((36, 48, 3), 90, dtype=np.uint8)
    image[8:20, 12:30] = (220, 30, 30)
    view = View("0", "front", 0, image, True)
    (guess,) = IsnetSegmenter(str(tmp_path / "red.onnx"), full_width={"front": 48})(
        [view], Wanted("mug", ObjectPrompt(), {}), lambda fraction: None
    )
    true = np.zeros((36, 48), dtype=bool)
    true[8:20, 12:30] = True
    assert (guess.mask & true).sum() / (guess.mask | true).sum() > 0.9
    assert guess.confidence > 0.8


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    """A damaged ONNX file gives an error that names it."""
    pytest.importorskip("onnxruntime")
    from gemel.stages.segment.backends.isnet import IsnetSegmenter

    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(SourceError, match=r"bad\.onnx cannot be run"):
        IsnetSegmenter(str(tmp_path / "bad.onnx"), full_width={})


@pytest.fixture(scope="module")
def tiny_sam(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A SAM 2 checkpoint of a few thousand random weights, saved as transformers saves them."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=8, num_attention_heads=1, image_size=[64, 64], blocks_per_stage=[1, 1, 1, 1],
        embed_dim_per_stage=[8, 16, 32, 64], num_attention_heads_per_stage=[1, 1, 1, 1],
        window_size_per_stage=[4, 4, 4, 4], global_attention_blocks=[],
        window_positional_embedding_background_size=[4, 4],
    )  # fmt: skip
    vision = transformers.Sam2VisionConfig(
        backbone_config=backbone, backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]], fpn_hidden_size=128,
    )  # fmt: skip
    config = transformers.Sam2VideoConfig(
        vision_config=vision,
        prompt_encoder_config=transformers.Sam2VideoPromptEncoderConfig(hidden_size=128, image_size=64, patch_size=16),
        mask_decoder_config=transformers.Sam2VideoMaskDecoderConfig(
            hidden_size=128, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=32
        ),
        image_size=64, memory_attention_hidden_size=128, memory_attention_num_layers=1,
        memory_attention_feed_forward_hidden_size=32, memory_attention_rope_feat_sizes=[4, 4],
        memory_encoder_hidden_size=128, memory_encoder_output_channels=64, memory_attention_num_attention_heads=1,
        mask_downsampler_embed_dim=128, memory_fuser_embed_dim=128, memory_fuser_intermediate_dim=32,
        memory_fuser_num_layers=1, num_maskmem=3,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("sam")
    transformers.Sam2VideoModel(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.slow
def test_sam_propagates_a_prompt_through_the_video(tiny_sam: str) -> None:
    """A point in the middle of a video, or a box, gives every frame before and after it a mask of the image's size."""
    from gemel.stages.segment.backends.sam import SamSegmenter

    sam = SamSegmenter(tiny_sam, full_width={"front": 48})
    on, off = PointPrompt("front", "0", 2, (20.0, 10.0)), PointPrompt("front", "0", 2, (5.0, 5.0), False)
    box = BoxPrompt("front", "0", 1, (8.0, 8.0, 30.0, 20.0))
    for prompt in (ObjectPrompt(points=(on, off)), ObjectPrompt(boxes=(box,))):
        guesses = sam(_views(), Wanted("mug", prompt, {}), lambda fraction: None)
        assert [g.mask.shape for g in guesses] == [(36, 48)] * 4
        assert all(0.0 <= g.confidence <= 1.0 for g in guesses)
        assert any(g.mask.any() for g in guesses)


@pytest.mark.slow
def test_sam_keeps_painted_masks(tiny_sam: str) -> None:
    """A painted frame comes back as painted, and the others are propagated from it."""
    from gemel.stages.segment.backends.sam import SamSegmenter

    views = _views()
    painted = np.zeros((36, 48), dtype=bool)
    painted[5:15, 5:20] = True
    wanted = Wanted("mug", ObjectPrompt(), {key_of(views[1]): painted})
    guesses = SamSegmenter(tiny_sam, full_width={"front": 48})(views, wanted, lambda fraction: None)
    assert np.array_equal(guesses[1].mask, painted)
    assert guesses[1].confidence == 1.0


@pytest.mark.slow
def test_words_alone_need_a_checkpoint_that_understands_them(tiny_sam: str) -> None:
    """SAM 2 with a text prompt only says what to do instead; words beside a point are no error."""
    from gemel.stages.segment.backends.sam import SamSegmenter

    sam = SamSegmenter(tiny_sam, full_width={"front": 48})
    with pytest.raises(ConfigError, match="does not understand words") as caught:
        sam(_views(), Wanted("mug", ObjectPrompt("red mug"), {}), lambda fraction: None)
    assert "facebook/sam3" in str(caught.value)
    both = ObjectPrompt("red mug", points=(PointPrompt("front", "0", 2, (20.0, 10.0)),))
    assert len(sam(_views(), Wanted("mug", both, {}), lambda fraction: None)) == 4


@pytest.mark.slow
def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    """A folder without a checkpoint, or with one of another kind, is named."""
    pytest.importorskip("transformers")
    from gemel.stages.segment.backends.sam_checkpoint import load_sam

    with pytest.raises(SourceError, match="no checkpoint"):
        load_sam(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(SourceError, match="'bert' is unknown"):
        load_sam(str(tmp_path))


def test_settings_are_checked() -> None:
    """A back end without its weights, an empty box and a step before the first are refused."""
    with pytest.raises(ConfigError, match="has no model"):
        SegmentConfig(backend="sam")
    with pytest.raises(ConfigError, match="is empty"):
        BoxPrompt("front", "0", 0, (5.0, 5.0, 2.0, 9.0))
    with pytest.raises(ConfigError, match="2 numbers"):
        PointPrompt("front", "0", -1, (5.0, 5.0))
