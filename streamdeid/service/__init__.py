"""Several cameras filtered as a service: a process for each, looked after, with health, metrics and a preview page."""
