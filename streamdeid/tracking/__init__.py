"""Follows faces over frames: association, motion, scene cuts, the camera, lost faces, the look-ahead.

`lookahead` tells which tracks are protected. One head has one redaction: `detection.matching` sees to this for seen
faces, `lookahead` for lost ones, both by the geometry of `core.heads`.

`camera` tells how a whole picture moved; places of lost faces are kept relative to the standing background (`noted`).

Everything here works on boxes, landmarks' places, patches and small copies of pictures. Nothing fits a face or tells
who a person is.
"""
