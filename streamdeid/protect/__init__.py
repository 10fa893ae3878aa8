"""How each face is protected, fail closed: levels, replacement, soft and solid redactions, regions, self-test.

`plan` is the seam with its four verbs; `replace_faces` settles who is shown and how, `standing` chooses each face's
level by the rules in `levels`. The only room that builds a `DeidentifiedFrame`. A new mask is named in `mask_faces`
(its pixels: `render.masks`); a new redaction goes here.
"""
