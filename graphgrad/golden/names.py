"""Match the names of then with the names of now: exactly, as told, as TensorFlow renamed them, by their ends."""
import re

#: Operations that were renamed, each group one and the same to whoever compares results.
_ALIASES = [
    ("add", "addv2"), ("div", "realdiv", "truediv"), ("mod", "floormod"), ("batchmatmul", "batchmatmulv2", "matmul"),
    ("gather", "gatherv2"), ("fusedbatchnorm", "fusedbatchnormv2", "fusedbatchnormv3"), ("select", "selectv2", "where"),
    ("pyfunc", "pyfuncstateless", "eagerpyfunc"), ("variable", "variablev2", "varhandleop"), ("concat", "concatv2"),
    ("mul", "multiply"), ("sub", "subtract"), ("neg", "negative"), ("pack", "stack"), ("unpack", "unstack"),
    ("reverse", "reversev2"), ("matrixdiag", "matrixdiagv3"), ("read", "readvariableop"),
]
_GROUP = {name: group[0] for group in _ALIASES for name in group}


def match(new, old, mapping=None):
    """Pair names.

    Args:
        new: list of names; a name may come more than once.
        old: list of names.
        mapping: {old name: new name}, given by the user.

    Returns:
        (pairs of places (in new, in old) in the order of old, old places without a partner, new places without one).
    """
    mapping = mapping or {}
    pairs, free_new, free_old = {}, list(range(len(new))), list(range(len(old)))
    for key_new, key_old in ((str, lambda name: mapping.get(name, name)), (canonical, canonical), (_ending, _ending)):
        by_key = {}
        for place in free_new:
            by_key.setdefault(key_new(new[place]), []).append(place)
        wanted = [key_old(old[place]) for place in free_old]
        for place, key in zip(list(free_old), wanted):
            partners = by_key.get(key)
            # Only exact names may be several; a guess must have one possible partner.
            if partners and (key_new is str or (len(partners) == 1 and wanted.count(key) == 1)):
                pairs[place] = partners.pop(0)
                free_old.remove(place)
                free_new.remove(pairs[place])
    return [(pairs[place], place) for place in sorted(pairs)], free_old, free_new


def match_lists(new, old, shapes, mapping=None):
    """Pair two fetch lists, of names that TensorFlow may have numbered otherwise than then.

    A script fetches the same things in the same order; ``Conv2DBackpropInput_13`` may be another tensor than then. So
    lists of equal length whose names differ by nothing but numbers, place by place, are paired by their places; with
    the very same names in another order (a dict, before Python 3.6) by their names, unless only the places agree in
    shape. Anything else is paired by names first.

    Args:
        new, old: lists of names.
        shapes: (list, list) of what the entries at these names are, dtype and shape; None where it is not known.
        mapping: as for ``match``.

    Returns:
        (pairs, sorted by the place in old, old places without a partner, new places without one, True if the same names
        came in another order).
    """
    by_name, free_old, free_new = match(new, old, mapping)
    places = [(place, place) for place in range(len(old))]
    same_length = len(new) == len(old)
    if not same_length or by_name == places or mapping and any(name in mapping for name in old):
        if same_length:   # what is left is paired by its place
            by_name, free_old, free_new = sorted(by_name + list(zip(free_new, free_old)), key=_place_in_old), [], []
        return by_name, free_old, free_new, False
    by_name = sorted(by_name + list(zip(free_new, free_old)), key=_place_in_old)
    turned = sorted(new) == sorted(old)
    numbered = all(_unnumbered(a) == _unnumbered(b) for a, b in zip(new, old))

    def agree(pairs):
        return all(shapes[0][a] == shapes[1][b] for a, b in pairs)

    if numbered and (not turned or not agree(by_name)) and (agree(places) or not agree(by_name)):
        return places, [], [], False
    return by_name, [], [], turned


def _place_in_old(pair):
    return pair[1]


def _unnumbered(name):
    """A name without the numbers by which TensorFlow tells equal ones apart."""
    return "/".join(re.sub(r"_\d+$", "", part) for part in canonical(name).split("/"))


def canonical(name):
    """A name without what TensorFlow changed over its versions: capitals, V2, renamed operations, ":0"."""
    parts = re.sub(r":0$", "", name).split("/")
    return "/".join(_canonical_part(part) for part in parts)


def _canonical_part(part):
    base, number = re.match(r"(.*?)((?:_\d+)?)$", part).groups()
    base = base.lower()
    return _GROUP.get(base, base) + number


def _ending(name):
    """The last two parts, for names to which Keras has given, or from which it has taken, a prefix."""
    return "/".join(canonical(name).split("/")[-2:])


def operation_kind(op_type):
    """An op type without what TensorFlow's versions changed of it: "Add" and "AddV2" have the same."""
    return _GROUP.get(op_type.lower(), op_type.lower())
