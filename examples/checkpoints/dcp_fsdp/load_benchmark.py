"""Loads, as Hydra sweeps them: .venv/bin/python load_benchmark.py +path=/data/runs +model=L7m,L270m +world_size=2"""

import hydra
from point import measure


@hydra.main(version_base=None, config_path="conf", config_name="sharded_load")
def main(config):
    measure(config, "load")


if __name__ == "__main__":
    main()
