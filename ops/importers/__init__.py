"""Reads the papers of a matter and writes its record: parsers that check what they read, and rows with a source each."""
