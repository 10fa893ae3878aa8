"""How each face is protected, fail closed: levels, replacement, soft and solid redactions, regions, self-test.

`plan` defines the interface of all methods, with its four verbs. `replace_faces` settles which person each track shows
and with which face; `standing` chooses the protection level of each face by the rules in `levels`. This is the only
package that builds a `DeidentifiedFrame`. A new mask is named in `mask_faces` (its pixels: `render.masks`); a new kind
of redaction goes here.
"""
