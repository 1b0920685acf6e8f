"""HDFS as a file system of pyarrow, by a client that needs neither Java nor Hadoop's libraries: the extra ``hdfs``."""

from __future__ import annotations

from typing import Any, Final

from hdfs_native.fsspec import HdfsFileSystem
from pyarrow import fs

_ATTEMPTS: Final = {"dfs.client.failover.max.attempts": "4"}
"""Of a single namenode, which has no other to turn to: some ten seconds, where the client's own 15 attempts take three minutes."""


class _Hdfs(HdfsFileSystem):
    """The client as pyarrow asks it: files have a time, and a file that is moved replaces the one that is there."""

    def _convert_file_status(self, file_status: Any) -> dict[str, Any]:
        return {
            **super()._convert_file_status(file_status),
            "mtime": file_status.modification_time / 1000,
        }

    def mv(self, path1: str, path2: str, **_: object) -> None:
        super().mv(path1, path2, overwrite=True)


def hadoop(authority: str) -> Any:
    """The file system of a namenode, of a name service, or, without a name, of the configuration in ``HADOOP_CONF_DIR``."""
    host, _, port = authority.partition(":")
    client = _Hdfs(host, int(port), **_ATTEMPTS) if port else _Hdfs(host or None)
    return fs.PyFileSystem(fs.FSSpecHandler(client))
