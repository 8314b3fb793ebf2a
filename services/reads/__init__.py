"""reads: attested answers from the record."""
