"""Faces followed over frames: association, motion, scene cuts, lost faces, the look-ahead.

What is known from boxes and patches alone. Nothing here looks at landmarks' textures or says who somebody is.
"""
