"""Files of the outside world, in and out. Dicts and paths end here: what leaves this folder is typed."""
