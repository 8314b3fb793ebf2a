"""Serves the bytes that a signed link names, and nothing else: no database, no key of a caller, no list."""
