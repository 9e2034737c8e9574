"""Robot model -> where its links are, differentiably; and what its links look like."""
