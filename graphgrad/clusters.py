"""Whether the tasks of a cluster are there: TensorFlow waits for one that is not, for ever and in silence."""
import socket
import time
from typing import Any

from ._tf import v1
from .errors import ClusterError


def check_cluster(cluster: Any, wait: float = 10.0) -> None:
    """Raise unless every task of a cluster answers.

    Call it before the first Session, or after the ``tf.train.Server`` of this task is made: a Session waits for all
    tasks, and says nothing of which it waits for.

    Args:
        cluster: a ``tf.train.ClusterSpec``, or what one is made of, ``{"ps": ["host:2222"], "worker": [...]}``.
        wait: seconds to give all the tasks together, which may be starting.

    Raises:
        ClusterError: tasks to which no connection can be made, by name and address; an address is none.
    """
    tasks = v1.train.ClusterSpec(cluster).as_dict()
    addresses = [(job, index, address) for job, listed in sorted(tasks.items()) for index, address in (
        sorted(listed.items()) if isinstance(listed, dict) else enumerate(listed))]
    until = time.time() + wait
    missing = [task for task in addresses if not _answers(task, until)]
    if missing:
        does, it = ("does", "it") if len(missing) == 1 else ("do", "them")
        raise ClusterError("{} {} not answer, and a Session would wait for {it} for ever: start {it}, or correct the "
                           "address in the ClusterSpec.".format(
                               " and ".join("/job:{}/task:{} ({})".format(*task) for task in missing), does, it=it))


def _answers(task, until):
    host, _, port = task[2].rpartition(":")
    if not host or not port.isdigit():
        raise ClusterError("/job:{}/task:{} has {!r} for its address, which is no HOST:PORT.".format(*task))
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=max(until - time.time(), 0.1)).close()
            return True
        except OSError:
            if time.time() >= until:
                return False
            time.sleep(0.1)
