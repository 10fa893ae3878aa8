"""Measures one face in one frame before anything is replaced: pose, fit, signals, glasses, and what occludes it.

This is the last step of the analysis. Nothing here decides how a face is protected, and nothing is rendered.
"""
