"""Object stores and Hadoop file systems: places named by a URI, used in the way paths of this machine are."""

from spaseq.stores.store_paths import (
    Place,
    StoreFile,
    StorePath,
    StoreStatus,
    files_in,
    for_spark,
    is_store,
    one_name,
    place_of,
    write_whole,
)
from spaseq.stores.systems import StoreAccess, StoreError, adopt

__all__ = [
    "Place",
    "StoreAccess",
    "StoreError",
    "StoreFile",
    "StorePath",
    "StoreStatus",
    "adopt",
    "files_in",
    "for_spark",
    "is_store",
    "one_name",
    "place_of",
    "write_whole",
]
