"""Names that a caller chooses from those there are."""


def of_names(parser, given, known):
    """The names in `given` (comma separated; empty: all) in the order of `known`; ends the program for another one."""
    wanted = [name for name in given.split(",") if name] or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)} (there are {', '.join(known)})")
    return [name for name in known if name in wanted]
