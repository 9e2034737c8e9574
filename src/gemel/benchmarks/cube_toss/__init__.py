"""`gemel bench cube-toss`: where a tossed cube goes."""
