"""The base of all rooms: frames, faces, points, colours, addresses, statuses and the protocols between rooms.

It holds plain values and functions that several rooms need. Nothing here knows a method of de-identification, and
nothing here imports another room.
"""
