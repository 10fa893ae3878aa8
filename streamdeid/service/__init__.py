"""Supervises several cameras: processes here or on other machines, restarts, health, metrics, the preview page.

The service itself sees only statuses and filtered pictures.
"""
