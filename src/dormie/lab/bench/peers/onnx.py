"""ONNX Runtime: the model as skl2onnx converts it, with float32 rows, on all cores."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab.bench.peers.base import Peer, PeerUnavailableError, Predict, require_estimator


def _convert(model: Any) -> bytes:
    """The model in ONNX format. skl2onnx refuses unsupported models with errors of many types."""
    from skl2onnx import to_onnx  # optional
    from skl2onnx.common.data_types import FloatTensorType  # optional

    rows = FloatTensorType([None, model.n_features_in_])
    options = {"zipmap": False} if hasattr(model, "classes_") else None
    try:
        with warnings.catch_warnings():
            # skl2onnx reads attributes that are deprecated in newer versions of scikit-learn.
            warnings.simplefilter("ignore", FutureWarning)
            converted = to_onnx(model, initial_types=[("rows", rows)], options=options)
    except Exception as error:
        raise PeerUnavailableError(f"skl2onnx cannot convert this model: {error}") from error
    serialized: bytes = converted.SerializeToString()
    return serialized


class OnnxRuntime(Peer):
    """ONNX Runtime."""

    name = "onnxruntime"
    needs = ("onnxruntime", "skl2onnx")

    def prepare(self, model: Any) -> Predict:
        from onnxruntime import InferenceSession  # optional

        require_estimator(model)
        session = InferenceSession(_convert(model), providers=["CPUExecutionProvider"])
        label = session.get_outputs()[0].name

        def predict(rows: Any) -> npt.NDArray[Any]:
            dense = rows.toarray() if hasattr(rows, "toarray") else rows
            return np.ravel(session.run([label], {"rows": np.asarray(dense, dtype=np.float32)})[0])

        return predict
