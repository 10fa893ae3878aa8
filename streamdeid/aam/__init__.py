"""The Active Appearance Model: shapes, textures, fit, rendering of its mesh, training.

Functions over arrays; the model is a value. Nothing here knows who a face belongs to or what becomes of it.
"""
