"""The objective of a tuning: a number that is computed from a run's tables by SQL."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from weft import api
from weft.errors import UsageError
from weft.measures import parse
from weft.sweeps.plan import source_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import polars as pl

    from weft.search.study import Direction

DIRECTIONS = ("minimize", "maximize")
"""Optuna's names of directions."""
_EXAMPLE = "such as 'quantile_cont(fct_s, 0.99) FROM flows'"


@dataclass(frozen=True)
class Objective:
    """A query that gives one number."""

    flag: str
    """The option that set it: `--minimize` or `--maximize`."""
    sql: str
    function: Callable[[api.Result], float | None] | None = None
    """The function that takes the place of a query; `sql` is then its name and a hash of its source."""

    @property
    def direction(self) -> Direction:
        """Optuna's name of the direction."""
        return "minimize" if self.flag == "--minimize" else "maximize"

    @classmethod
    def parse(cls, minimize: str | None, maximize: str | None) -> Self:
        """Parses the value of `--minimize` or `--maximize`. The word SELECT may be absent.

        Raises:
            UsageError: None or both are given, or the value is not a query.
        """
        if (minimize is None) == (maximize is None):
            raise UsageError(
                f"--minimize, --maximize: {'both' if minimize else 'none'} given; allowed: one, {_EXAMPLE}"
            )
        flag, text = ("--minimize", minimize) if maximize is None else ("--maximize", maximize)
        sql = (text or "").strip()
        if not re.match(r"(select|with)\b", sql, re.IGNORECASE):
            sql = f"SELECT {sql}"
        objective = cls(flag, sql)
        if objective._is_answered_without_tables():
            raise objective._refused("reads no table of a run")
        objective._answer({name: table.lazy() for name, table in _without_rows().items()})
        return objective

    @classmethod
    def of_function(cls, objective: object, direction: Direction) -> Self:
        """Creates an objective from a function of a `Result`, a measure such as "p99 slowdown", or a query.

        Raises:
            UsageError: It is none of these, or the direction is wrong.
        """
        if direction not in DIRECTIONS:
            raise UsageError(f"direction: {direction!r}; allowed: {', '.join(DIRECTIONS)}")
        flag = f"--{direction}"
        if callable(objective):
            return cls(flag, f"{getattr(objective, '__qualname__', 'objective')} {source_digest(objective)}", objective)
        if not isinstance(objective, str):
            raise UsageError(f"objective: {objective!r:.100}; allowed: a function, a measure, or SQL, {_EXAMPLE}")
        try:
            measure = parse(objective)
        except UsageError:
            if not re.search(r"\bfrom\b", objective, re.IGNORECASE):
                raise
            return cls.parse(*((objective, None) if direction == "minimize" else (None, objective)))

        def value(result: api.Result) -> float | None:
            found: float | None = measure.values(result.table(measure.quantity.table), []).item(0, "value")
            return found

        return cls(flag, objective, value)

    def of(self, run: Path) -> float | None:
        """Returns the number of a run, given its folder.

        It is None if SQL gives NULL or a number that is not finite.

        Raises:
            UsageError: The query fails, or its result is not one number.
        """
        import polars as pl

        tables = {name: pl.scan_parquet(file) for name in api.TABLES if (file := run / f"{name}.parquet").exists()}
        if self.function is not None:
            found = self.function(api.Result.read(run))
            return None if found is None or not math.isfinite(found) else float(found)
        answer = self._answer(tables)
        if answer.height != 1:
            raise self._refused(f"gives {answer.height} rows")
        value = answer.item()
        return None if value is None or not math.isfinite(value) else float(value)

    def _answer(self, tables: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
        """Returns the result of the query, a single column of numbers."""
        import polars as pl
        from polars.exceptions import PolarsError

        try:
            with pl.SQLContext(tables) as context:
                answer = context.execute(self.sql).collect()
        except (PolarsError, OSError, ValueError) as error:
            raise self._refused(next(iter(str(error).splitlines()), type(error).__name__)) from None
        if answer.width != 1:
            raise self._refused(f"gives {answer.width} columns")
        if not (answer.dtypes[0].is_numeric() or answer.dtypes[0] == pl.Null):
            raise self._refused(f"gives {answer.dtypes[0]}")
        return answer

    def _is_answered_without_tables(self) -> bool:
        """Returns whether the query needs no table of a run, so that its number says nothing about runs."""
        import polars as pl
        from polars.exceptions import PolarsError

        try:
            with pl.SQLContext() as context:
                context.execute(self.sql).collect()
        except (PolarsError, OSError, ValueError):
            return False
        return True

    def _refused(self, reason: str) -> UsageError:
        return UsageError(f"{self._shown()}: {reason}; allowed: one number in SQL over a run's tables, {_EXAMPLE}")

    @property
    def query(self) -> str:
        """Returns the query without the word SELECT, on one line."""
        return " ".join(self.sql.removeprefix("SELECT ").split())

    def _shown(self) -> str:
        return f"{self.flag} {self.sql.removeprefix('SELECT ')!r:.200}"


def _without_rows() -> dict[str, pl.DataFrame]:
    """Returns the tables of a run without rows: the columns do not depend on the experiment."""
    spec = {
        "name": "columns",
        "duration": "1us",
        "topology": {"kind": "many-to-one", "senders": 1, "rate": "1Gbps", "delay": "1us"},
        "queues": {"limit": "1 packets"},
        "transports": {"t": {"cc": "reno"}},
        "traffic": [{"kind": "bulk", "transport": "t", "from": "h0", "to": "r0"}],
    }
    return {name: table.clear() for name, table in api.run(spec, threads=1).tables.items()}
