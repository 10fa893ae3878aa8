"""The review desk: it ranks what to look at first, takes edits, and serves the page on which they are made.

This package changes no pixels of a video: `runs` renders the output.
"""
