"""Chooses which synthetic face a person gets: methods, keyed bank, certificate, attributes, gallery, models.

`choice` is the entry, and the place for a new method. Nothing here sees a picture.
"""
