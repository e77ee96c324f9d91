"""Fetches packages that ship data sets, and unpacks their tables.

fetch.py FOLDER          downloads the packages of packages.json, and writes each table of tables.tsv to FOLDER/<number>/<name>. Checks all checksums.
fetch.py FOLDER --list   writes tables.tsv anew: all tables of the packages up to LARGEST bytes, each content once. Look through its column `delimiter`.

pip and npm fetch the packages from the registries that are configured for them. Packages that are in FOLDER already are not fetched again.
"""
import csv
import hashlib
import io
import json
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

from archives import tables

HERE = Path(__file__).parent
LIST = HERE / "tables.tsv"
COLUMNS = ["registry", "package", "version", "path", "delimiter", "bytes", "sha256"]
LARGEST = 2 * 1024 * 1024
# Wheels for this platform are fetched on every machine: their data are the same, and their checksums are known.
WHEELS = [
    "--only-binary", ":all:", "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64",
    "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "none",
]


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def run(command: list[str], folder: Path) -> None:
    """Runs a command in a folder; its last lines of output are the error if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shown = (done.stderr + done.stdout).strip()[-2000:]
        raise SystemExit(f"The data sets cannot be fetched. `{' '.join(command[:3])}` ended with {done.returncode}; does it reach its registry?\n{shown}")


def fetch_pypi(package: dict, folder: Path) -> None:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package['name']}=={package['version']} --hash=sha256:{package['sha256']}\n")
    kind = ["--no-binary", package["name"]] if package["isSource"] else WHEELS
    run(["pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", *kind, "--dest", ".", "--require-hashes", "--requirement", str(requirements)], folder)
    requirements.unlink()


def fetch_npm(package: dict, folder: Path) -> None:
    run(["npm", "pack", "--silent", "--ignore-scripts", f"{package['name']}@{package['version']}"], folder)


def archive_of(registry: str, package: dict, cache: Path) -> bytes:
    """The archive of a package, fetched unless it is there already; fails if its checksum is another."""
    folder = cache / f"{registry}-{package['name'].replace('/', '-')}-{package['version']}"
    if not folder.exists() or not any(folder.iterdir()):
        folder.mkdir(parents=True, exist_ok=True)
        (fetch_pypi if registry == "pypi" else fetch_npm)(package, folder)
    [file] = folder.iterdir()
    content = file.read_bytes()
    if checksum(content) != package["sha256"]:
        file.unlink()
        raise SystemExit(f"{registry}: {package['name']} {package['version']} has the checksum {checksum(content)}, not {package['sha256']}.")
    return content


def packages() -> list[tuple[str, dict]]:
    return [(registry, package) for registry, all_of_it in json.loads((HERE / "packages.json").read_text()).items() for package in all_of_it]


def read_list() -> list[dict]:
    with LIST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def likely_delimiter(path: str, content: bytes) -> str:
    """The delimiter that cuts most of the first lines into as many cells as the header, and the most of them."""
    if ".tsv" in path.lower():
        return "tab"
    text = content.decode("utf-8-sig", "replace")
    best = ("comma", 0.0, 1)
    for name, delimiter in (("comma", ","), ("semicolon", ";"), ("tab", "\t"), ("bar", "|")):
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = list(islice((row for row in lines if row), 100))
        if not rows or len(rows[0]) == 1:
            continue
        [(width, times)] = Counter(len(row) for row in rows).most_common(1)
        if width > 1 and (times / len(rows), width) > best[1:]:
            best = (name, times / len(rows), width)
    return best[0]


def write_list(cache: Path) -> None:
    seen = set()
    with LIST.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        for registry, package in packages():
            for path, content in tables(archive_of(registry, package, cache)):
                digest = checksum(content)
                if digest in seen or len(content) > LARGEST or not content.strip():
                    continue
                seen.add(digest)
                writer.writerow({
                    "registry": registry, "package": package["name"], "version": package["version"], "path": path,
                    "delimiter": likely_delimiter(path, content), "bytes": len(content), "sha256": digest,
                })


def unpack(cache: Path, folder: Path) -> None:
    listed = read_list()
    for registry, package in packages():
        contents = dict(tables(archive_of(registry, package, cache)))
        for number, table in enumerate(listed):
            if (table["registry"], table["package"], table["version"]) != (registry, package["name"], package["version"]):
                continue
            content = contents.get(table["path"], b"")
            if checksum(content) != table["sha256"]:
                raise SystemExit(f"{package['name']}: {table['path']} has the checksum {checksum(content)}, not {table['sha256']}.")
            name = Path(table["path"].lower()).name.removesuffix(".gz").removesuffix(".bz2")
            target = folder / str(number) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


if __name__ == "__main__":
    csv.field_size_limit(sys.maxsize)
    base = Path(sys.argv[1])
    if "--list" in sys.argv[2:]:
        write_list(base / "packages")
    else:
        unpack(base / "packages", base / "tables")
