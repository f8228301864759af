"""Run a conversation of Hermes Agent's own agent: ``hermes_turns.py URL TURNS COMPRESS_AFTER``.

URL is an API that answers for the model, HERMES_HOME names the home. After the turn COMPRESS_AFTER (0 for never) the
conversation is shortened, as Hermes Agent does when it grows too long. Prints the last answer.
"""

import sys

from run_agent import AIAgent

url, turns, compress_after = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
agent = AIAgent(base_url=url, api_key="none", provider="custom", model="stub-model", quiet_mode=True, platform="cli")
history: list = []
result: dict = {}
for turn in range(1, turns + 1):
    result = agent.run_conversation(f"This is turn {turn}.", conversation_history=history)
    history = result["messages"]
    if turn == compress_after:
        history, _ = agent._compress_context(history, None, force=True)
agent.shutdown_memory_provider(history)
print(result["final_response"])
