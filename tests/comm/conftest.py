import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import networks  # noqa: E402

cabled = networks.cabled
