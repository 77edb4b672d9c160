"""edit_package.py IN OUT [PLACE=JSON …]: a copy of a package with other values in its flowtrain.json.

PLACE is a path such as train.outputs.0.kind; without JSON the value is left out. "-NAME" leaves out the files of the
archive whose names begin so.
"""

import json
import sys
import zipfile


def main():
    source, out, *edits = sys.argv[1:]
    dropped = [edit[1:] for edit in edits if edit.startswith("-")]
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            name, content = entry.filename.split("/", 1)[1], old.read(entry)
            if name == "extra/flowtrain.json":
                content = edited(json.loads(content), [edit for edit in edits if not edit.startswith("-")])
            if not any(name.startswith(each) for each in dropped):
                new.writestr(entry.filename, content)


def edited(description, edits):
    for edit in edits:
        place, value = edit.split("=", 1)
        *way, last = [int(part) if part.isdigit() else part for part in place.split(".")]
        inner = description
        for part in way:
            inner = inner[part]
        if value:
            inner[last] = json.loads(value)
        else:
            del inner[last]
    return json.dumps(description)


main()
