"""Which synthetic face a person gets: the methods of a stream, keyed bank, certificate, attributes, gallery, models.

`choice` is the way in, and where a new method goes. Nothing here sees a picture.
"""
