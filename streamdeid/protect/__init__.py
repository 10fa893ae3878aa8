"""How each face is protected, fail closed: levels, replacement, soft and solid redactions, regions, self-test.

`replace_faces` gives each face its level, by the rules in `levels`. The only room that builds a `DeidentifiedFrame`. A
new mask or redaction goes here.
"""
