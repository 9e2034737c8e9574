"""Models of objects from generative programs: a file, a local command or a server, behind one protocol."""
