"""The review desk: what to look at first, edits, and the page on which they are made.

It changes no pixels itself: what leaves is rendered by `runs`.
"""
