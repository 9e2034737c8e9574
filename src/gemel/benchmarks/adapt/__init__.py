"""`gemel bench adapt`: policies that are told physics, against policies that are not, on the stand-in arm."""
