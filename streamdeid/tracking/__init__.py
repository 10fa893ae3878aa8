"""Faces followed over frames: association, motion, scene cuts, the camera, lost faces, the look-ahead.

`lookahead` tells what is covered. One head has one redaction: of faces that are seen in `detection.matching`, of lost
ones in `lookahead`, both by the geometry of `core.heads`.

`camera` tells how a whole picture moved; places of lost faces are kept beside what stands (`noted`).

What is known from boxes and patches alone. Nothing here looks at landmarks' textures or says who somebody is.
"""
