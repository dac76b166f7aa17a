"""Runs the spec on standard input with the extension module alone.

`run_module.py FILE DURATION` prints the packet-hops. It is run under valgrind, which makes each import expensive.
"""

import importlib.util
import json
import sys
from pathlib import Path

# The manifest of a run has the version, which the package states.
sys.path.append(str(Path(sys.argv[1]).parents[1]))
found = importlib.util.spec_from_file_location("_weft", sys.argv[1])
assert found is not None
assert found.loader is not None
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
run = module.Experiment.parse(sys.stdin.read(), [f"duration={sys.argv[2]}"]).run(1)
print(json.loads(run.manifest())["counters"]["packet_hops"])
