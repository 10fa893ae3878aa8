"""Writes what stands in the documents: the tables of privacy and the README's picture."""
