"""The rules, one module a family. A module is found by being here; its rules register themselves when imported."""
