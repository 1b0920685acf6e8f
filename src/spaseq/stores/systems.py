"""How stores are reached: pyarrow's file systems, the credentials that workers get from the driver, errors as sentences."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from spaseq.errors import SpaseqError

if TYPE_CHECKING:
    from types import TracebackType

_CURES: Final = {
    "s3": (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile with AWS_PROFILE, for every process that reads "
        "or writes, on a cluster for the workers too; AWS_ENDPOINT_URL names another server than Amazon's"
    ),
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, on a cluster for the workers too",
    "abfss": "log in with `az login`, or set AZURE_STORAGE_KEY to the key of the account, on a cluster for the workers too",
    "hdfs": (
        "name the namenode as `hdfs://HOST:PORT/…`, or set HADOOP_CONF_DIR for a name service, and HADOOP_USER_NAME or a ticket of "
        "Kerberos for the user, on a cluster for the workers too"
    ),
}


class StoreError(SpaseqError, OSError):
    """A store that does not give or take what was asked; says which place, why, and what to do."""


# --- access from other processes ------------------------------------------------------------------

_VARIABLES: Final = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_EC2_METADATA_DISABLED", "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SERVICE_ENDPOINT", "GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST", "HADOOP_CONF_DIR", "HADOOP_USER_NAME",
)  # fmt: skip
"""Variables of the environment that say how stores are reached."""
_adopted: set[str] = set()
"""Those that this process has from another."""


class StoreAccess:
    """How this process reaches stores; another one that unpickles it reaches them in the same way.

    What the environment of that process says itself has precedence.
    """

    def __reduce__(self) -> tuple[Any, tuple[dict[str, str]]]:
        return _unpickled, ({name: os.environ[name] for name in _VARIABLES if name in os.environ},)


def _unpickled(variables: dict[str, str]) -> StoreAccess:
    adopt(variables)
    return StoreAccess()


def adopt(variables: dict[str, str]) -> None:
    """Reach stores as these variables say, where the environment says nothing."""
    for name, value in variables.items():
        if name in _adopted or name not in os.environ:
            _adopted.add(name)
            os.environ[name] = value


def _endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


# --- pyarrow --------------------------------------------------------------------------------------


def inner(root: str) -> str:
    """How pyarrow calls the root of a store."""
    scheme, _, authority = root.partition("://")
    return {"hdfs": "", "abfss": authority.partition("@")[0]}.get(scheme, authority)


def system(root: str) -> Any:
    """The file system of a store."""
    return _connected(root, tuple(os.environ.get(name) for name in _VARIABLES))


@cache
def _connected(root: str, _access: tuple[str | None, ...]) -> Any:
    """The file system of a store, one in each process for as long as the credentials are the same."""
    from pyarrow import fs

    scheme, _, authority = root.partition("://")
    match scheme:
        case "s3":
            endpoint, region = (
                _endpoint(),
                os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            )
            if endpoint is None:
                return fs.S3FileSystem(region=region or fs.resolve_s3_region(authority))
            kind, _, host = endpoint.rpartition("://")
            return fs.S3FileSystem(
                endpoint_override=host, scheme=kind or "https", region=region or "us-east-1"
            )
        case "gs":
            if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):
                kind, _, host = emulator.rpartition("://")
                return fs.GcsFileSystem(anonymous=True, scheme=kind or "http", endpoint_override=host)
            return fs.GcsFileSystem()
        case "abfss":
            account, _, domain = authority.partition("@")[2].partition(".")
            return fs.AzureFileSystem(
                account, account_key=os.environ.get("AZURE_STORAGE_KEY"), **_azure_services(domain)
            )
        case _:
            if find_spec("hdfs_native") is None:
                raise StoreError(f"`{root}` needs the extra `hdfs`: pip install 'spaseq[hdfs]'")
            from spaseq.stores.hdfs import hadoop

            return hadoop(authority)


def _azure_services(domain: str) -> dict[str, str]:
    """Where the services of an account are: ``dfs.core.windows.net`` or another cloud, or at one address."""
    if endpoint := os.environ.get("AZURE_STORAGE_SERVICE_ENDPOINT"):
        kind, _, host = endpoint.rstrip("/").rpartition("://")
        kind = kind or "https"
        return {
            "blob_storage_authority": host,
            "dfs_storage_authority": host,
            "blob_storage_scheme": kind,
            "dfs_storage_scheme": kind,
        }
    cloud = domain.removeprefix("dfs.").removeprefix("blob.")
    if not cloud:
        return {}
    return {"blob_storage_authority": f".blob.{cloud}", "dfs_storage_authority": f".dfs.{cloud}"}


class asking:  # noqa: N801 - used as a statement
    """Turn what a store answers to a question into a sentence."""

    def __init__(self, root: str, name: str, done: str) -> None:
        self._root, self._name, self._done = root, name, done

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(2, "no such file", self._name) from None
        # The client of HDFS reports what a namenode refuses as a plain `RuntimeError`.
        if (isinstance(error, OSError) or type(error) is RuntimeError) and not isinstance(error, StoreError):
            raise StoreError(
                f"`{self._name}` cannot be {self._done}: {_reason(self._root, str(error))}"
            ) from None


_DENIED: Final = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "HTTP response code 403",
                  "HTTP status 403", "MISSING_AUTHENTICATION_TOKEN", "PERMISSION_DENIED", "AuthorizationFailure", "Permission denied",
                  "UNAUTHENTICATED", "credential", "EXPIRED_TOKEN")  # fmt: skip
_UNREACHABLE: Final = (
    "NETWORK_CONNECTION",
    "Couldn't resolve",
    "Could not connect",
    "UNAVAILABLE",
    "Connection refused",
    "failed to lookup address",
    "fs.defaultFS",
)


def _reason(root: str, text: str) -> str:
    """Why, and what to do."""
    scheme = root.partition(":")[0]
    cure = _CURES[scheme]
    if scheme == "hdfs":
        reason = _said_by_hadoop(text)
        return f"{reason}; {cure}" if any(word in reason for word in _DENIED + _UNREACHABLE) else reason
    if (
        "NO_SUCH_BUCKET" in text
        or "ContainerNotFound" in text
        or ("Bucket '" in text and "not found" in text)
    ):
        return no_bucket(root)
    if any(word in text for word in _DENIED):
        return f"the store did not accept the credentials, or found none; {cure}"
    if any(word in text for word in _UNREACHABLE):
        where = _endpoint()
        return f"the store{f' at {where}' if where and scheme == 's3' else ''} cannot be reached; {cure}"
    return " ".join(text.split())


def _said_by_hadoop(text: str) -> str:
    r"""The message in ``RPCError("java.io.IOException", "message\n\tat …")``, without Java's stack."""
    found = re.match(r'\w+\((?:"[\w.$]+", )?"(.*?)(?:\\n|"\)$)', text, re.DOTALL)
    return found[1].replace('\\"', "`").rstrip(".") if found else " ".join(text.split())


def no_bucket(root: str) -> str:
    """What to say of a bucket or container that does not exist."""
    what = "container" if root.startswith("abfss") else "bucket"
    return f"there is no {what} `{inner(root)}`; make it, or name another"
