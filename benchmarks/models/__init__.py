"""How well do the face model and the detector's networks do?"""
