"""A table of the report: wide ones scroll."""

from collections.abc import Sequence
from html import escape


def table(columns: Sequence[str], rows: Sequence[str], caption: str = "") -> str:
    """Names of columns as text, rows as HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )
