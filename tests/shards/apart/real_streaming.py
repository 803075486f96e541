"""mosaicml-streaming as it is installed, without the torchvision that its image data sets want."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "share" / "peers" / "connector"))
import no_torchvision  # noqa: E402, F401
import streaming  # noqa: E402, F401
