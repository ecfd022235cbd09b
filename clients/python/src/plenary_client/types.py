"""What the server takes and answers, as types."""

from ._events import *  # noqa: F403
from ._types import *  # noqa: F403
