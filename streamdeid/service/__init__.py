"""Several cameras supervised: processes, restarts, health, metrics, the preview page.

It sees statuses and filtered pictures only.
"""
