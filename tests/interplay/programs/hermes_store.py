"""Use Hermes Agent's own MemoryStore, in an environment that has it: ``hermes_store.py ACTION TARGET ARGUMENT...``.

HERMES_HOME names the home. Prints the result as JSON; ``add-many`` takes a prefix and a number, and waits for a line on
stdin before it begins.
"""

import json
import sys

from tools.memory_tool import MemoryStore

action, target, *arguments = sys.argv[1:]
store = MemoryStore(memory_char_limit=1_000_000, user_char_limit=1_000_000)
store.load_from_disk()
if action == "add-many":
    prefix, number = arguments
    print("ready", flush=True)
    sys.stdin.readline()
    results = [store.add(target, f"{prefix} {count}") for count in range(int(number))]
    print(json.dumps([result["success"] for result in results]))
else:
    print(json.dumps(getattr(store, action)(target, *arguments)))
