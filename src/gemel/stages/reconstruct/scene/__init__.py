"""What stands around the objects: robot links, table and background."""
