"""The opposition: reproduces the papers, attacks the methods, measures what published faces keep (`evaluate`).

Nothing of the product imports it; the command line finds it by an entry point.
"""
