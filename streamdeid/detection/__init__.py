"""Finds the faces in a frame: networks, tiles, candidates, landmarks, plug-in detectors, their deadline and guard.

This is the only room that imports mediapipe or LiteRT. A new detector goes here. Nothing here remembers people.
"""
