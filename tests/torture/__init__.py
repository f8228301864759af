"""The long runs that prove the stores: ``make torture``, or ``python -m tests.torture [ROW ...]``.

A proof is a row of the table that this prints (``tests.torture.proofs``). To give a proof its row, write a file
``rows.py`` in the folder of its tests, ``tests/<folder>/rows.py``; it is found by its name. In it::

    from tests.torture import Outcome, Task, row

    @row("journal", seconds=40)
    def cut_and_flip(task: Task) -> Outcome:
        \"""One line that says what is done.\"""
        wrong = 0
        for number in task.steps():                # 0, 1, 2 … until task.asked are done, or the time is up
            wrong += cut_a_journal(number, task.folder)
        return task.outcome(failed=f"{wrong} wrong heads" if wrong else "")

``"journal"`` is the name of a proof; ``seconds`` about how long the whole figure takes on two cores; ``cores=2`` for a row
that keeps both busy by itself. ``of="memory"`` tells apart the rows of one proof that run over several things.
A row that cannot run here raises ``Skip("why")``; an exception is a failure. Each row runs in a process of its own.

``task.asked`` is the figure to reach; a row of "all there are" runs over ``task.part(them)`` instead. A row that works in
rounds asks ``task.rounds(most)`` how large the next one may be, and calls ``task.add`` with what it did. Both end when the
time is up, and the table says how far the row came. ``task.folder`` is an empty folder in memory, or on a disk with
``on_disk=True``.
"""

from tests.torture.registry import Outcome, Skip, Task, row

__all__ = ["Outcome", "Skip", "Task", "row"]
