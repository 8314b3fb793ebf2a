"""Imports Mata v. Avianca: one filing that exists as pictures, with its machine-read text."""

from ops.importers import assemble
from ops.importers.assemble import Index
from ops.importers.library import Library


def rows(library: Library, given: Index, index: Index) -> None:
    """Every row of the matter."""
    for spec in index["documents"]:
        library.load(spec)
    own = index["matter"]
    assemble.matter(library, given, index, library.place(own))
    assemble.people(library, index)
