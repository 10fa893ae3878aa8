"""What was found in a recording and what was decided of it, kept beside it; and edits of that.

Values and files only: no pixels, no identity vectors, nothing that renders or decides.
"""
