"""The papers' closed-set algorithms, one file each: functions from faces (n, d), k and a generator to faces (n, d).

The room also holds what the algorithms share: clusters, Fisherfaces, and masks of face images. It knows no streams and
no keys, and it keeps no state.
"""
