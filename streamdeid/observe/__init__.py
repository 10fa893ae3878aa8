"""What is measured of one face in one frame before anything is replaced: pose, fit, signals, glasses, what hides it.

The last step of the analysis. Nothing here decides how a face is protected, and nothing is rendered.
"""
