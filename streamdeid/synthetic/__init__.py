"""Synthetic people for the demo, the self-test, the warm-up and tests.

They are made from the appearance model and from one portrait in the public domain. Nothing here filters anything.
"""
