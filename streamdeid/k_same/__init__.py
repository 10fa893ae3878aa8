"""The papers' closed-set algorithms, one file each: functions from faces (n, d), k and a generator to faces (n, d).

With what they share (clusters, Fisherfaces, masks of face images). No streams, no keys, no memory.
"""
