"""The tables in the archives of packages: CSV and TSV files, also compressed ones, and those in an archive within the archive."""
import bz2
import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator

TABLE = re.compile(r"\.(csv|tsv)(\.gz|\.bz2)?$", re.IGNORECASE)
INNER_ARCHIVE = re.compile(r"\.tar\.gz$")


def members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the path and the content of each file of a zip or tar.gz archive."""
    if archive[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            for info in opened.infolist():
                if not info.is_dir():
                    yield info.filename, opened.read(info)
        return
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        for info in opened:
            file = opened.extractfile(info) if info.isfile() else None
            if file is not None:
                yield info.name, file.read()


def tables(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the path and the decompressed content of each table. The path within an inner archive follows a `!`."""
    for path, content in members(archive):
        if INNER_ARCHIVE.search(path):
            for inner_path, inner in tables(content):
                yield f"{path}!{inner_path}", inner
        elif path.split("/")[-1].startswith("._"):
            # A resource fork of macOS: no table.
            continue
        elif found := TABLE.search(path):
            yield path, decompressed(content, found.group(2))


def decompressed(content: bytes, ending: str | None) -> bytes:
    match (ending or "").lower():
        case ".gz":
            return gzip.decompress(content)
        case ".bz2":
            return bz2.decompress(content)
        case _:
            return content
