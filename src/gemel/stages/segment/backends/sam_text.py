"""What words name, found by SAM 3's detector in some frames of a video; the tracker takes it from there.

The detector answers with many instances per image. An instance's score is its own probability times that of anything
so named being there at all (Carion and others, SAM 3: Segment Anything with Concepts, 2025).
"""

import numpy as np
from jaxtyping import Bool

from gemel.stages.segment.backends.sam_checkpoint import Detector, SamCheckpoint
from gemel.stages.segment.view import View

_LOOKS = 8
"""How many frames of a video are searched, evenly spread."""


def find_by_words(
    checkpoint: SamCheckpoint, detector: Detector, views: list[View], words: str
) -> tuple[int, Bool[np.ndarray, "h w"]] | None:
    """Where in one camera's video the named thing shows best, and its mask there; None where it is not seen."""
    best, most = None, 0.0
    for place in np.unique(np.linspace(0, len(views) - 1, min(len(views), _LOOKS)).round().astype(int)):
        score, mask = surest_instance(checkpoint, detector, views[place], words)
        worth = score * float(np.sqrt(mask.sum()))  # of frames in which it is equally sure, the one with most of it
        if score > detector.least_score and worth > most:
            best, most = (int(place), mask), worth
    return best


def surest_instance(
    checkpoint: SamCheckpoint, detector: Detector, view: View, words: str
) -> tuple[float, Bool[np.ndarray, "h w"]]:
    """Score, 0 to 1, and mask at the view's size of the instance in one view that the words fit best."""
    import torch

    network = detector.network
    length = network.config.text_config.max_position_embeddings
    text = detector.tokenizer(words, return_tensors="pt", padding="max_length", max_length=length, truncation=True)
    image = checkpoint.prepared([view.image]).to(network.device, network.dtype)
    ids, attention = text.input_ids.to(network.device), text.attention_mask.to(network.device)
    with torch.inference_mode():
        found = network(pixel_values=image, input_ids=ids, attention_mask=attention)
        scores = found.pred_logits[0].sigmoid() * found.presence_logits[0].sigmoid()
        at = int(scores.argmax())
        logits = found.pred_masks[0, at].float()[None, None]
        logits = torch.nn.functional.interpolate(logits, view.size, mode="bilinear")[0, 0]
    return float(scores[at]), (logits > 0.0).cpu().numpy()
