"""Rendering: a face made of a surrogate, an expression and light, blended into the planes; also masks.

`face` is the entry. All inputs are given: this room does not identify people and decides nothing.
"""
