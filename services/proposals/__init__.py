"""proposals: an agent files, and nothing else happens here."""
