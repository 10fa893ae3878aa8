"""Faces found in a frame: networks, tiles, candidates, landmarks; what plugs in, its deadline and its guard.

The only room that imports mediapipe or LiteRT. A new detector goes here. Nothing here remembers people.
"""
