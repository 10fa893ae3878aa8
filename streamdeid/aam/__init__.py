"""The Active Appearance Model: shapes, textures, fit, rendering of its mesh, training.

The package has functions over arrays; the model is a value. Nothing here knows who a face belongs to or how it is used.
"""
