"""What old code takes of distutils, pkg_resources and imp, which later Pythons have not."""
import pytest

from graphgrad.legacy import packaging


@pytest.mark.parametrize("lower, higher", [
    ("1.5.1", "1.5.2b2"), ("2g6", "11g"), ("0.960923", "2.2beta29"), ("1.4.0", "1.15.5"), ("1.4", "1.4.0"), ("3.10a", "8.02")])
def test_loose_versions(lower, higher):
    """In the order of distutils' own documentation: numbers as numbers, a longer one after its beginning."""
    low, high = packaging.LooseVersion(lower), packaging.LooseVersion(higher)
    assert low < high and low <= high and high > lower and high >= low and not low == high
    assert low == lower and hash(low) == hash(packaging.LooseVersion(lower)) and str(low) == repr(low) == lower


@pytest.mark.parametrize("lower, higher", [
    ("1.4.0-rc1", "1.4"), ("1.0.dev3", "1.0a1"), ("1.0a2", "1.0b1"), ("1.0rc1", "1.0"), ("1.0", "1.0.post1"), ("1.9", "1.10")])
def test_versions_of_releases(lower, higher):
    """parse_version: what comes before a release is lower, and 1.0 is 1.0.0."""
    assert packaging.parse_version(lower) < packaging.parse_version(higher)
    assert packaging.parse_version("1.0") == packaging.parse_version("1.0.0") == packaging.StrictVersion("v1+local")


@pytest.mark.parametrize("words, value", [("y yes t TRUE On 1", 1), ("n No f false off 0", 0)])
def test_strtobool(words, value):
    """Words that mean yes or no, in any case."""
    assert [packaging.strtobool(word) for word in words.split()] == [value] * 6
    with pytest.raises(ValueError, match="invalid truth value 'maybe'"):
        packaging.strtobool("maybe")


def test_folders_and_modules(tmp_path, monkeypatch):
    """distutils.dir_util.mkpath; imp.load_source and new_module."""
    import sys
    folder = tmp_path / "a" / "b"
    packaging.mkpath(str(folder))
    packaging.mkpath(str(folder))
    (folder / "config.py").write_text("rate = 0.5\n")
    monkeypatch.setitem(sys.modules, "my_config", None)
    assert packaging.load_source("my_config", str(folder / "config.py")).rate == 0.5 == sys.modules["my_config"].rate
    assert packaging.new_module("empty").__name__ == "empty" and "empty" not in sys.modules
