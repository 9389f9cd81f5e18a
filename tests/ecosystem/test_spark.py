"""The Spark recipe of docs/scale.md in a local session: the answers of one process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dormie
from tests.ecosystem import recipes

# What Spark itself warns of: pandas from 3 on, and sockets that it leaves to the garbage collector.
pytestmark = [
    pytest.mark.ecosystem,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "3000",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_both_recipes_give_the_answers_of_one_process(
    spark: Any, fast: dormie.Predictor, path: str, table: pd.DataFrame
) -> None:
    rows = spark.createDataFrame(table).repartition(4)
    names = recipes.run("Spark", {"spark": spark, "rows": rows, "path": path})
    expected = fast.predict(table[["x", "y"]].to_numpy())
    for name in ("answered", "also_answered"):
        found = names[name].toPandas().sort_values("number")
        assert found["number"].tolist() == table["number"].tolist()
        np.testing.assert_array_equal(found["kind"].to_numpy().astype(expected.dtype), expected)


def test_a_row_that_is_no_number_is_named(spark: Any, path: str, table: pd.DataFrame) -> None:
    rows = spark.createDataFrame(table.assign(x=table["x"].where(table["number"] != 17))).coalesce(1)
    names = recipes.run("Spark", {"spark": spark, "rows": rows, "path": path})
    with pytest.raises(Exception, match="row 17, column 0 is NaN"):
        names["answered"].toPandas()
