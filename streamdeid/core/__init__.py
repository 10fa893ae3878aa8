"""The ground floor: frames, faces, points, colours, addresses, statuses and the seams (protocols) between rooms.

Plain values and pure functions that several rooms need. Nothing here knows a method, a file format or a network;
nothing here imports another room.
"""
