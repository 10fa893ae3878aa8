"""How each face is protected, fail closed: levels, replacement, soft and solid redactions, regions, self-test.

`levels` decides; the only room that builds a `DeidentifiedFrame`. A new mask or redaction goes here.
"""
