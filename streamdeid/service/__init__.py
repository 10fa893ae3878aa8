"""Several cameras supervised: processes here or on other machines, restarts, health, metrics, the preview page.

It sees statuses and filtered pictures only.
"""
