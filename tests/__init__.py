"""Tests; a package of its own, because a library brings one of this name."""
