"""Remote files: what needs no server."""

import os
import subprocess
import sys


def test_without_libcurl_the_error_says_what_to_install(tmp_path):
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (tmp_path / name).touch()  # found before the system's, and no library
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import flowtrain as ft\n"
            "ft.Loader.webdataset('https://localhost/shards', split='a.tar', batch_size=4, seed=1)\n",
        ],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "flowtrain.DataError: cannot open libcurl, which reads remote files: " in ended.stderr
    assert "hint: install it: libcurl4 in Debian and Ubuntu" in ended.stderr
