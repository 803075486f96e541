"""Optuna's searches over a recorded space, in an interpreter that has Optuna: how many distinct points each looks at
until the best one. Reads the space from standard input and writes a list for each search, a number a seed.
"""

import json
import sys
import warnings

import optuna

# Its models are asked for points that they know already, which costs nothing here: such do not count, but end some time.
TRIALS_FOR_EACH_POINT = 4


def samplers(seed):
    return {
        "optuna TPE": optuna.samplers.TPESampler(seed=seed),
        "optuna random": optuna.samplers.RandomSampler(seed=seed),
    }


def suggest(trial, name, choices):
    """Numbers as places in their order, as assay's own model takes them."""
    if all(type(choice) in (int, float) for choice in choices):
        return choices[trial.suggest_int(name, 0, len(choices) - 1)]
    return trial.suggest_categorical(name, choices)


def looks(sampler, recorded):
    """Distinct points until the best; all of them where it was not met."""
    values = {tuple(point): value for point, value in recorded["values"]}
    worst = (min if recorded["maximize"] else max)(values.values())
    best = (max if recorded["maximize"] else min)(values, key=values.get)
    study = optuna.create_study(direction="maximize" if recorded["maximize"] else "minimize", sampler=sampler)
    seen = set()
    for _ in range(TRIALS_FOR_EACH_POINT * len(values)):
        trial = study.ask()
        point = tuple(suggest(trial, name, choices) for name, choices in recorded["axes"])
        seen.add(point)
        if point == best:
            return len(seen)
        study.tell(trial, values.get(point, worst))
    return len(values)


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    recorded = json.load(sys.stdin)
    counts = {}
    for seed in range(recorded["seeds"]):
        for name, sampler in samplers(seed).items():
            counts.setdefault(name, []).append(looks(sampler, recorded))
    json.dump(counts, sys.stdout)


main()
