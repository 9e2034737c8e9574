"""Letters of three by five pixels, so that pictures can carry labels without an imaging package."""

import numpy as np
from jaxtyping import Bool, UInt8

_ROWS = {
    "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "H": "55755",
    "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "65555", "O": "25552", "P": "65644",
    "Q": "25563", "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "W": "55775", "X": "55255",
    "Y": "55222", "Z": "71247", "0": "75557", "1": "26227", "2": "71747", "3": "71317", "4": "55711", "5": "74717",
    "6": "74757", "7": "71222", "8": "75757", "9": "75717", " ": "00000", ".": "00002", ",": "00024", "-": "00700",
    "_": "00007", ":": "02020", "/": "11244", "%": "51245", "+": "02720", "=": "07070", "(": "24442", ")": "21112",
    "'": "22000", "?": "71202",
}  # fmt: skip
"""Five rows from the top, each an octal digit of three pixels."""
HEIGHT = 5


def lettering(text: str) -> Bool[np.ndarray, "5 w"]:
    """Pixels of a line of text; letters that are not known become question marks."""
    columns = [np.zeros((HEIGHT, 1), dtype=bool)]
    for letter in text.upper():
        rows = _ROWS.get(letter, _ROWS["?"])
        columns += [np.array([[bool(int(row) & bit) for bit in (4, 2, 1)] for row in rows]), columns[0]]
    return np.concatenate(columns, axis=1)


def labelled(
    image: UInt8[np.ndarray, "h w 3"], text: str, *, colour: tuple[int, int, int] = (40, 40, 40)
) -> UInt8[np.ndarray, "h2 w 3"]:
    """The image under a bar with a line of text, in letters of a size that suits it."""
    width = image.shape[1]
    size = max(1, min(3, width // max(4 * len(text), 80)))
    letters = np.kron(lettering(text), np.ones((size, size), dtype=bool))[:, : width - 2]
    bar = np.full(((HEIGHT + 2) * size, width, 3), 255, dtype=np.uint8)
    bar[:] = colour
    bar[size : size + letters.shape[0], 1 : 1 + letters.shape[1]][letters] = 255
    return np.concatenate([bar, image])
