"""Lists the crates that a package links, with their licences, and the texts of these where the crates have them.

Standard input: `cargo metadata` of one platform. Argument: the package. Texts that several crates share are printed once.
"""

import json
import pathlib
import sys


def main(name: str) -> None:
    metadata = json.load(sys.stdin)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    start = next(key for key, package in packages.items() if package["name"] == name)
    linked, waiting = set(), [start]
    while waiting:
        key = waiting.pop()
        if key in linked:
            continue
        linked.add(key)
        # What only builds or tests the program isn't part of it.
        waiting += [dep["pkg"] for dep in nodes[key]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    texts: dict[str, list[str]] = {}
    for package in sorted((packages[key] for key in linked), key=lambda package: (package["name"], package["version"])):
        if package["source"] is None:
            continue
        print(f"{package['name']} {package['version']}: {package['license'] or package['license_file']}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for file in sorted(folder.iterdir()):
            if file.is_file() and file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")):
                text = file.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(package["name"])
    for text, names in texts.items():
        print(f"\n{'-' * 72}\n{', '.join(dict.fromkeys(names))}\n\n{text}")


if __name__ == "__main__":
    main(sys.argv[1])
