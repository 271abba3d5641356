"""tf.contrib.training: HParams."""
import json
import re


class HParams:
    """Named hyperparameters with the types they were given at first."""

    def __init__(self, hparam_def=None, model_structure=None, **kwargs):
        self._hparam_types = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        """Add one: a number, a str, a bool or a list of them."""
        if getattr(self, name, None) is not None:
            raise ValueError("Hyperparameter name is reserved: {}".format(name))
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError("Multi-valued hyperparameters cannot be empty: {}".format(name))
        self._hparam_types[name] = (type(value[0]) if several else type(value), several)
        setattr(self, name, list(value) if several else value)

    def set_hparam(self, name, value):
        """Set one that is there; the value is turned into its type."""
        kind, several = self._hparam_types[name]
        if several != isinstance(value, list):
            raise ValueError("Must {}pass a list for {}parameter: {}.".format(
                "" if several else "not ", "multi-valued " if several else "", name))
        setattr(self, name, [_cast(name, kind, v) for v in value] if several else _cast(name, kind, value))

    def del_hparam(self, name):
        """Take one away."""
        if name in self._hparam_types:
            delattr(self, name)
            del self._hparam_types[name]

    def override_from_dict(self, values_dict):
        """Set several."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse(self, values):
        """Set several from a text such as ``a=1,b=[1,2],c=x``."""
        for match in re.finditer(r"\s*([A-Za-z]\w*)\s*=\s*(\[[^\]]*\]|[^,]*?)\s*(?:,|$)", values):
            name, text = match.groups()
            if name not in self._hparam_types:
                raise ValueError("Unknown hyperparameter type for {}".format(name))
            kind, _ = self._hparam_types[name]
            if text.startswith("["):
                self.set_hparam(name, [_parse(name, kind, part.strip()) for part in text[1:-1].split(",")])
            else:
                self.set_hparam(name, _parse(name, kind, text))
        return self

    def parse_json(self, values_json):
        """Set several from a JSON object."""
        return self.override_from_dict(json.loads(values_json))

    def values(self):
        """A dict of all."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def to_json(self, indent=None, separators=None, sort_keys=False):
        """All, as a JSON object."""
        return json.dumps({name: value for name, value in self.values().items() if not callable(value)},
                          indent=indent, separators=separators, sort_keys=sort_keys)

    def get(self, key, default=None):
        """One, or a default."""
        return getattr(self, key) if key in self._hparam_types else default

    def __contains__(self, key):
        return key in self._hparam_types

    def __str__(self):
        return ",".join("{}={}".format(*pair) for pair in self.values().items())

    def __repr__(self):
        return "HParams({})".format(", ".join("{}={!r}".format(*pair) for pair in sorted(self.values().items())))


def _parse(name, kind, text):
    if kind is bool:
        if text in ("true", "True", "1"):
            return True
        if text in ("false", "False", "0"):
            return False
        raise ValueError("Could not parse hparam {!r} with value {!r}".format(name, text))
    return kind(text)


def _cast(name, kind, value):
    if kind is type(None) or isinstance(value, kind):
        return value
    if isinstance(value, str) or kind is bool or (kind is int and not isinstance(value, int)):
        raise ValueError("Could not cast hparam {!r} of type {!r} from value {!r}".format(name, kind, value))
    return kind(value)
