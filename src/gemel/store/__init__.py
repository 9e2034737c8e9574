"""Where artifacts live: content addresses, atomic writes, a chained ledger, and the seal on the holdout.

Layout of a store folder:

    ledger.sqlite      index and ledger, WAL mode
    objects/ab/cdef…   immutable files, named by the SHA-256 of their bytes
    tmp/               files being written; whatever a killed process leaves here is removed later
"""
