"""A face made of a surrogate, an expression and light, and blended into the planes; masks too.

`face` is the way in. Everything is given: render asks nobody who somebody is and decides nothing.
"""
