"""`gemel bench push`: where real objects end up after straight pushes."""
