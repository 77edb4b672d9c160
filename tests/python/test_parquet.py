"""Loader.parquet: rows of Parquet files, as pyarrow writes them. Skipped without pyarrow."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import flowtrain as ft

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
COUNT = 200
LIBRARY = Path(ft.__file__).parents[2] / "lib" / "libflowtrain_parquet.so"
needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="this build reads no Parquet")
FIELDS = {"text": {"from": "text", "as": "bytes", "max": 64}, "list": {"from": "list", "as": "array", "max": [8]},
          "score": {"from": "score", "as": "number"}, "label": "label"}


def columns():
    """COUNT rows of texts, bytes, lists of numbers, numbers of several types, and classes."""
    return {
        "text": [f"row {number} 🌊" * (number % 3 + 1) for number in range(COUNT)],
        "list": pa.array([[*range(number, number + number % 7 + 1)] for number in range(COUNT)], pa.list_(pa.int32())),
        "score": pa.array(np.arange(COUNT) / 4, pa.float64()),
        "small": pa.array(np.arange(COUNT) % 256, pa.uint8()),
        "half": pa.array(np.arange(COUNT).astype(np.float16), pa.float16()),
        "raw": [bytes([number % 256, 0, 1]) for number in range(COUNT)],
        "words": [[f"a{number}", "\"b\""][: number % 3] for number in range(COUNT)],
        "label": ["cat" if number % 3 else "dog" for number in range(COUNT)],
    }


def write(path, table=None, **options):
    pq.write_table(pa.table(table or columns()), path, **{"row_group_size": 13, **options})
    return path


def open_rows(path, **changes):
    return ft.Loader.parquet(path, **{"fields": FIELDS, "batch_size": 16, "seed": 5, "ids": True, "output": "numpy",
                                      "train": False, **changes})


def rows_of(loader):
    """{id: {field: value}} of an epoch, without padding."""
    rows = {}
    for batch in loader:
        for row, identity in enumerate(batch["ids"]):
            rows[int(identity)] = {name: batch[name][row][: batch[f"{name}_length"][row]]
                                   if f"{name}_length" in batch else batch[name][row]
                                   for name in batch if name != "ids" and not name.endswith("_length")}
    return rows


def test_a_build_without_parquet_says_how_to_get_it(tmp_path):
    if LIBRARY.exists():
        pytest.skip("this build reads Parquet")
    with pytest.raises(ft.DataError, match="reads no Parquet: .*\n.*pyarrow 26.0.1"):
        open_rows(write(tmp_path / "a.parquet"))


@needs_library
@pytest.mark.parametrize("options", [{}, {"compression": "zstd", "use_dictionary": False},
                                     {"data_page_version": "2.0", "data_page_size": 64},
                                     {"use_compliant_nested_type": False, "row_group_size": COUNT}])
def test_rows_are_those_that_pyarrow_has_written(tmp_path, options):
    fields = {**FIELDS, "small": {"from": "small", "as": "number", "dtype": "i64"},
              "half": {"from": "half", "as": "number"}, "raw": {"from": "raw", "as": "bytes", "max": 4},
              "words": {"from": "words", "as": "bytes", "max": 64}}
    loader = open_rows(write(tmp_path / "a.parquet", **options), fields=fields)
    rows, expected = rows_of(loader), columns()
    assert sorted(rows) == list(range(COUNT)) and loader.classes == ["cat", "dog"]
    for number, row in rows.items():
        assert row["text"].tobytes() == expected["text"][number].encode()
        assert row["list"].tolist() == expected["list"][number].as_py()
        assert row["score"] == number / 4 and row["small"] == number % 256 and row["half"] == number
        assert row["raw"].tobytes() == expected["raw"][number]
        assert row["words"].tobytes() == [b"", b'["a%d"]' % number, b'["a%d", "\\"b\\""]' % number][number % 3]
        assert loader.classes[row["label"]] == expected["label"][number]
    assert loader.describe(17).endswith("a.parquet:18")


@needs_library
def test_a_folder_of_files_is_one_data_set_with_splits(tmp_path):
    for part in range(3):
        write(tmp_path / f"train-{part:05}-of-00003.parquet")
    write(tmp_path / "test-00000-of-00001.parquet")
    train, test = open_rows(tmp_path, train=True), open_rows(tmp_path)
    rows = rows_of(train)
    assert sorted(rows) == list(range(3 * COUNT)) and len(rows_of(test)) == COUNT
    assert all(row["score"] == number % COUNT / 4 for number, row in rows.items())
    assert train.describe(COUNT + 4).endswith("train-00001-of-00003.parquet:5")


@needs_library
def test_rows_are_the_same_where_only_one_group_stays_decoded(tmp_path):
    table = {"text": [f"{number} " * 20_000 for number in range(60)]}
    path = write(tmp_path / "a.parquet", table, row_group_size=10, use_dictionary=False)
    fields = {"text": {"from": "text", "as": "bytes", "max": 8}}
    arguments = {"train": True, "fields": fields, "workers": 4, "readers": 4}
    few, all_groups = (rows_of(open_rows(path, row_groups_mb=most, **arguments)) for most in (1, 512))
    assert {number: row["text"].tobytes() for number, row in few.items()} == {
        number: row["text"].tobytes() for number, row in all_groups.items()}
    assert few[42]["text"].tobytes() == b"42 42 42"


@needs_library
def test_nulls_are_empty_and_a_null_in_a_list_is_a_damaged_row(tmp_path):
    table = {"text": [None, "b", ""], "list": pa.array([None, [], [1, 2]], pa.list_(pa.int64()))}
    fields = {"text": FIELDS["text"], "list": FIELDS["list"]}
    rows = rows_of(open_rows(write(tmp_path / "a.parquet", table), fields=fields))
    assert [rows[number]["text"].tobytes() for number in range(3)] == [b"", b"b", b""]
    assert [rows[number]["list"].tolist() for number in range(3)] == [[], [], [1, 2]]
    wrong = {"list": pa.array([[1], [1, None]], pa.list_(pa.int64()))}
    with pytest.raises(ft.DataError, match="b.parquet:2: column 'list': a null in a list"):
        rows_of(open_rows(write(tmp_path / "b.parquet", wrong), fields={"list": FIELDS["list"]},
                          overrides={"data.bad": "stop"}))


@needs_library
def test_a_nested_column_is_refused_only_where_it_is_used(tmp_path):
    table = {**columns(), "messages": [[{"role": "user", "content": "hello"}]] * COUNT}
    path = write(tmp_path / "a.parquet", table)
    assert len(rows_of(open_rows(path))) == COUNT
    with pytest.raises(ft.DataError, match="column 'messages' is .*, but texts, bytes(.|\n)*a text of JSON"):
        open_rows(path, fields={"text": {"from": "messages", "as": "bytes", "max": 8}})


@needs_library
def test_cut_damaged_and_different_files_are_one_line_each(tmp_path):
    whole = write(tmp_path / "a.parquet").read_bytes()
    for name, content, message in [
        ("cut", whole[: len(whole) // 2], "the file is cut, or no Parquet: it does not end with PAR1"),
        ("none", b"", "the file is cut, or no Parquet"),
        ("footer", whole[:-8] + b"\xff\xff\xff\x00PAR1", "footer"),
    ]:
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(content)
        with pytest.raises(ft.DataError, match=message) as error:
            open_rows(path)
        assert str(error.value).count("\n") <= 1 and f"{name}.parquet" in str(error.value)
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "1.parquet")
    write(folder / "2.parquet", {**columns(), "score": ["a"] * COUNT})
    with pytest.raises(ft.DataError, match="2.parquet: after 2 columns comes 'score', String, but in .*1.parquet"):
        open_rows(folder)
    zeros = bytearray(whole)
    zeros[100:160] = bytes(60)
    (tmp_path / "page.parquet").write_bytes(zeros)
    with pytest.raises(ft.DataError, match="page.parquet"):
        rows_of(open_rows(tmp_path / "page.parquet", overrides={"data.bad": "stop"}))


@needs_library
def test_pictures_are_a_column_of_bytes_called_image(tmp_path):
    image = pytest.importorskip("PIL.Image")
    import io

    def png(value):
        out = io.BytesIO()
        image.new("RGB", (8, 8), (value, 0, 0)).save(out, "PNG")
        return out.getvalue()

    path = write(tmp_path / "a.parquet", {"caption": ["a", "b"], "image": [png(10), png(20)], "label": [1, 0]})
    ((images, labels),) = ft.Loader.parquet(path, batch_size=2, size=8, train=False, dtype="uint8", output="numpy")
    assert images[:, 0, 0, 0].tolist() == [10, 20] and labels.tolist() == [1, 0]


@pytest.fixture()
def server(tmp_path):
    """A server of the folder that answers ranges: its address, and the ranges that were asked for."""
    ranges = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = tmp_path / self.path.lstrip("/").partition("?")[0]
            if not path.is_file():
                return self.send_error(404)
            content = path.read_bytes()
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            part = content[first : last + 1]
            ranges.append((first, len(part)))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(part)))
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}", ranges
    served.shutdown()


@needs_library
def test_files_on_a_server_are_read_by_columns_of_groups(tmp_path, server):
    address, ranges = server
    for part in range(2):
        write(tmp_path / f"train-{part}.parquet")
    fields = {"text": FIELDS["text"], "label": "label"}
    local, remote = (open_rows(place, fields=fields, train=True)
                     for place in (tmp_path, f"{address}/train-{{0..1}}.parquet?key=secret"))
    rows, expected = rows_of(remote), rows_of(local)
    assert sorted(rows) == list(range(2 * COUNT))
    for number, row in expected.items():
        assert row["text"].tobytes() == rows[number]["text"].tobytes() and row["label"] == rows[number]["label"]
    assert remote.describe(COUNT) == f"{address}/train-1.parquet:1"
    # Each file: its version, its end, its footer (twice), then one request for each of two columns of 16 groups.
    assert len(ranges) <= 2 * (1 + 3 + 2 * 16)
    with pytest.raises(ft.DataError, match="none.parquet: "):
        open_rows(f"{address}/none.parquet", fields=fields)
    with pytest.raises(ft.DataError, match="a.txt is no .*parquet.*, the only files that are read on a server"):
        open_rows(f"{address}/a.txt", fields=fields)
