"""A twin in the formats of other programs: one file per format, each read back and compared before it is kept."""
