"""Golden files for unittest and tf.test.TestCase."""
import os
import sys
from typing import Any, Optional

from .._types import ToleranceMap
from ..errors import UsageError
from .files import check, place

#: "new" accepts what has no golden file yet, "all" also what differs from its file.
UPDATE = "GRAPHGRAD_GOLDEN_UPDATE"


class GoldenTestCase:
    """A mixin: ``class MyTest(GoldenTestCase, tf.test.TestCase)``."""

    def assertMatchesGolden(self, name: str, tensors: Any, tolerances: Optional[ToleranceMap] = None) -> None:   # noqa: N802 (unittest's spelling)
        """Assert that tensors are those of golden/MODULE/NAME.npz beside the test's module.

        Args:
            name: str, of the golden file.
            tensors: an array, tensor or None, or a list or dict of them; tensors are run in the default session.
            tolerances: {name, pattern or dtype: (relative, normwise)}, kept in the file.

        Raises:
            AssertionError: they differ, or there was no file: then it is written. The environment variable
                GRAPHGRAD_GOLDEN_UPDATE accepts: "new" what has no file yet, "all" also what differs.
            UsageError: that variable is neither, or the name no plain file name.
        """
        update = os.environ.get(UPDATE, "")
        if update not in ("", "new", "all"):
            raise UsageError("{} must be 'new' or 'all'; it is {!r}.".format(UPDATE, update))
        check(place(sys.modules[type(self).__module__].__file__, name), tensors, update, tolerances)
