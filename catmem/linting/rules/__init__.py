"""The rules, in modules by what they look at. A module is found by being here; its rules register when imported."""
