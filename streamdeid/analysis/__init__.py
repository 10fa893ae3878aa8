"""The analysis of a recording, which holds what was found and decided, and the edits of it; both lie beside the video.

This package has values and files only. It has no pixels and no identity vectors, and it renders and decides nothing.
"""
