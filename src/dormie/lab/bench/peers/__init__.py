"""The peers, in the order of the table. The first that can take part is the reference."""

from dormie.lab.bench.peers.base import Peer, PeerUnavailableError, Predict
from dormie.lab.bench.peers.gemm import NumpyGemm
from dormie.lab.bench.peers.intelex import Intelex
from dormie.lab.bench.peers.onnx import OnnxRuntime
from dormie.lab.bench.peers.ours import Dormie
from dormie.lab.bench.peers.scikit import ScikitLearn

__all__ = ["PEERS", "Peer", "PeerUnavailableError", "Predict"]

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        ScikitLearn(),
        Intelex(),
        OnnxRuntime(),
        NumpyGemm("float64"),
        NumpyGemm("float32"),
        Dormie("dormie-dense", ["dense"]),
        Dormie("dormie"),
    )
}
