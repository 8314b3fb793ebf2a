"""The programs, one folder each; none imports another."""
