#!/usr/bin/env python3
"""Writes the seeds in tests/fuzz/corpus: small right files of every kind that a reader knows, and some wrong ones.

Needs Pillow for the JPEGs, pyarrow for Parquet, and numpy and soundfile for recordings. What is there already (findings
of the fuzzers, too) is kept.
"""
import gzip
import io
import json
import pathlib
import shutil
import struct
import tarfile
import zlib

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent
CORPUS = ROOT / "corpus"


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def jpegs():
    rgb = Image.new("RGB", (20, 12))
    rgb.putdata([(x * 12, y * 20, 128) for y in range(12) for x in range(20)])
    for name, image, options in [
        ("rgb", rgb, {}), ("progressive", rgb, {"progressive": True}), ("grey", rgb.convert("L"), {}),
        ("cmyk", rgb.convert("CMYK"), {}), ("low", rgb, {"quality": 5, "subsampling": 2}),
        ("restart", rgb, {"restart_marker_blocks": 1}), ("comment", rgb, {"comment": b"c" * 20, "exif": b"Exif\0\0"}),
    ]:
        out = io.BytesIO()
        image.save(out, "JPEG", **options)
        put("jpeg", name, out.getvalue())
    put("jpeg", "torn", out.getvalue()[:-40])


# A TIFF header, one directory with one entry: orientation 6, a quarter turn.
EXIF = b"MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, 0x112, 3, 1, 6, 0, 0)


def png(width, height, depth, color, rows, chunks=(), interlace=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    body = b"".join(chunk(kind, data) for kind, data in chunks)
    body += chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body


def pngs():
    put("png", "rgb", png(3, 2, 8, 2, (b"\0" + bytes(range(9))) * 2))
    put("png", "rgba", png(2, 2, 8, 6, (b"\1" + bytes(range(8))) * 2))
    put("png", "grey16", png(2, 2, 16, 0, (b"\2" + bytes(4)) * 2))
    put("png", "grey1", png(9, 2, 1, 0, (b"\0\xaa\x80") * 2))
    put("png", "grey_alpha", png(2, 1, 8, 4, b"\0\1\2\3\4"))
    put("png", "palette", png(4, 1, 2, 3, b"\0\x1b", [(b"PLTE", bytes(range(12))), (b"tRNS", b"\0\x80")]))
    put("png", "interlaced", png(2, 2, 8, 0, b"\0\1\0\2\0\3\4", interlace=1))
    put("png", "chunks", png(1, 1, 8, 2, bytes(4), [
        (b"gAMA", struct.pack(">I", 45455)), (b"sBIT", b"\5\5\5"), (b"tEXt", b"k\0v"),
        (b"zTXt", b"k\0\0" + zlib.compress(b"v" * 500)), (b"iCCP", b"p\0\0" + zlib.compress(bytes(128)))]))
    put("png", "exif", png(3, 2, 8, 2, (b"\0" + bytes(range(9))) * 2, [(b"eXIf", EXIF)]))
    put("png", "huge", png(2**31 - 1, 2**31 - 1, 8, 2, bytes(4)))


VOC = """<?xml version="1.0"?>
<!-- c --><annotation><filename>a.jpg</filename><size><width>20</width><height> 12 </height><depth>3</depth></size>
<object><name>cell</name><difficult>1</difficult><bndbox><xmin>1.5</xmin><ymin>2</ymin><xmax>8e0</xmax><ymax>9</ymax>
</bndbox></object><object><name><![CDATA[a]]>&lt;&#65;</name><bndbox><xmin>3</xmin><ymin>3</ymin><xmax>3</xmax>
<ymax>9</ymax></bndbox></object></annotation>
"""


def webps():
    rgb = Image.new("RGB", (20, 12))
    rgb.putdata([(x * 12, y * 20, 128) for y in range(12) for x in range(20)])
    clear = rgb.convert("RGBA")
    clear.putalpha(100)
    for name, image, options in [
        ("lossy", rgb, {"quality": 80}), ("lossless", rgb, {"lossless": True}), ("clear", clear, {"quality": 50}),
        ("animated", rgb, {"save_all": True, "append_images": [clear.convert("RGB")]}),
    ]:
        out = io.BytesIO()
        image.save(out, "WEBP", **options)
        put("webp", name, out.getvalue())
        if name == "lossless":
            put("webp", "exif", webp_with_exif(out.getvalue(), *image.size))


def webp_with_exif(webp, width, height):
    """An extended file of the one chunk that `webp` has, and of an EXIF chunk."""
    sides = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBP" + b"VP8X" + struct.pack("<II", 10, 8) + sides + webp[12:]
    body += b"EXIF" + struct.pack("<I", len(EXIF)) + EXIF
    return b"RIFF" + struct.pack("<I", len(body)) + body


def annotations():
    put("voc", "two", VOC)
    put("voc", "utf16", VOC.encode("utf-16"))
    put("voc", "entity", '<!DOCTYPE a [<!ENTITY b "&c;&c;"><!ENTITY c "x">]><annotation>&b;</annotation>')
    put("voc", "deep", "<annotation>" + "<a>" * 1000)
    put("voc", "numbers", VOC.replace("1.5", "nan").replace("8e0", "1e999"))


COCO = {
    "info": {"year": 2017}, "licenses": [],
    "images": [{"id": 7, "file_name": "seven.jpg", "width": 100, "height": 90, "coco_url": "a\u00e9\U0001f600"},
               {"id": 3, "file_name": "a/three.jpg", "width": 10.5, "height": 90}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 18, "bbox": [10.5, 20, 30, 4e1], "area": 600.5, "iscrowd": 0,
         "segmentation": [[1, 2, -3.25, 4e-2, 5, 6]]},
        {"id": 2, "image_id": 3, "category_id": 17, "bbox": [0, 0, 0, 9], "iscrowd": True,
         "segmentation": {"counts": "abc\\", "size": [90, 100]}},
        {"id": 3, "image_id": 3, "category_id": 17, "bbox": [-4, 2, 1, 9], "area": None}],
    "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat", "supercategory": "animal"}],
}


def coco_files():
    put("coco", "small", json.dumps(COCO))
    put("coco", "utf8", b"\xef\xbb\xbf" + json.dumps(COCO, ensure_ascii=False, indent=1).encode())
    put("coco", "backwards", json.dumps(dict(reversed(COCO.items()))))
    put("coco", "pictures_only", json.dumps(dict(COCO, annotations=[])))
    put("coco", "twice", json.dumps(dict(COCO, images=COCO["images"] * 2)))
    put("coco", "unknown", json.dumps(dict(COCO, categories=[])))
    put("coco", "negative", json.dumps(COCO).replace("30, 40.0", "-30, 1e999"))
    put("coco", "types", json.dumps(COCO).replace("600.5", "{\"a\": [[]]}").replace("7,", "\"7\","))
    put("coco", "nan", json.dumps(dict(COCO, x=float("nan"))))
    put("coco", "deep", '{"images": ' + "[" * 200)
    put("coco", "surrogate", '{"images": [{"file_name": "\\ud800"}]}')
    put("coco", "torn", json.dumps(COCO)[:400])


def idx_files():
    images = struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 3, 2) + bytes(range(12))
    for name, data in [("images", images), ("labels", struct.pack(">BBBBI", 0, 0, 8, 1, 2) + b"\1\2"),
                       ("lying", struct.pack(">BBBBIII", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1)),
                       ("floats", struct.pack(">BBBBI", 0, 0, 13, 1, 1) + bytes(4))]:
        put("idx", name, data)
        put("idx", name + ".gz", gzip.compress(data, mtime=0))
    put("idx", "members.gz", gzip.compress(images[:9], mtime=0) + gzip.compress(images[9:], mtime=0))
    put("idx", "zeros.gz", gzip.compress(bytes(100_000), mtime=0))


def cifar_files():
    record = b"\3" + bytes(3072)
    put("cifar", "one", b"\0" + record)
    put("cifar", "named", bytes([20]) + b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n" + record)
    put("cifar", "label", b"\0" + b"\x0b" + bytes(3072))


def tar_of(members, form):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data, kind in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.type = kind
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()[:-8192] if out.getvalue().endswith(bytes(9216)) else out.getvalue()


def archives():
    file, long = tarfile.REGTYPE, "d/" + "n" * 120 + ".jpg"
    for name, form in [("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)]:
        members = [("./a.jpg", b"jpeg", file), ("a.cls", b"7\n", file),
                   ("b.x.png", b"png", file), ("b.cls", b"3", file)]
        if name != "ustar":
            members.append((long, b"long", file))
        data = tar_of(members, form)
        put("tar", name, data)
        put("webdataset", name, data)
    odd = [("../up.jpg", b"x", file), ("/abs.jpg", b"x", file), ("link.jpg", b"", tarfile.SYMTYPE),
           ("hard.jpg", b"", tarfile.LNKTYPE), ("dev.jpg", b"", tarfile.CHRTYPE), ("fifo", b"", tarfile.FIFOTYPE),
           ("d/", b"", tarfile.DIRTYPE), ("a.jpg", b"1", file), ("a.jpg", b"2", file)]
    put("tar", "odd", tar_of(odd, tarfile.GNU_FORMAT))
    put("webdataset", "label", tar_of([("a.png", b"x", file), ("a.cls", b"-1", file)], tarfile.USTAR_FORMAT))


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def weights():
    entry = {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}
    put("safetensors", "one", safetensors({"__metadata__": {"format": "pt"}, "a": entry}, bytes(8)))
    put("safetensors", "two", safetensors({"a": entry, "b": dict(entry, shape=[], dtype="I64", data_offsets=[8, 16])},
                                          bytes(16)))
    put("safetensors", "empty", safetensors({"a": dict(entry, shape=[0, 3], data_offsets=[0, 0])}))
    put("safetensors", "overlap", safetensors({"a": entry, "b": dict(entry, data_offsets=[4, 12])}, bytes(12)))
    put("safetensors", "huge", struct.pack("<Q", 2**63) + b"{}")
    put("safetensors", "overflow", safetensors({"a": dict(entry, shape=[2**62, 2**62])}, bytes(8)))


def snapshots():
    files = {name: {"bytes": 8, "xxh64": "0" * 16, "tensors": {"w": "1" * 16}}
             for name in ["model.safetensors", "optim.safetensors", "state.json", "config.toml"]}
    text = json.dumps({"format": "flowtrain snapshot", "version": 1, "iteration": 5, "files": files}, indent=1)
    put("manifest", "one", text[:-2])  # the target puts the hash and the end there
    put("manifest", "version", text[:-2].replace('"version": 1', '"version": 2'))
    put("manifest", "deep", '{"a": ' + "[" * 500)
    put("journal", "lines", '{"kind":"train","iter":5,"loss":1e300}\n{"kind":"val","iter":101}\n{"kind":"end"}\n{"torn')
    put("journal", "odd", '\n[1]\n{"iter":"x"}\n{"kind":5,"iter":null}\nno json\n{"iter":1e999}\n{"iter":-1}\n')
    put("journal", "deep", "[" * 500 + "\n" + '{"a":' * 100 + "\n")


def flight_records():
    """The first threads of a record, as stages/flight/format.h has it; the rest is zeros."""
    def text(value, size):
        return value.encode()[:size].ljust(size, b"\0")

    def words(*values):
        return struct.pack(f"<{len(values)}Q", *values)

    second, start = 10**9, 1_700_000_000 * 10**9
    def header(rank=0, world=2, end=0, places=5):
        head = words(1, size, rank, world, 123, 7, second, start, 20 * second, end, 6, places, 1, 0)
        return b"FTFLIGHT" + head + text("n0", 64) + text("lost the others", 256)

    def place(kind, name):
        return words(kind, *[0] * 7) if not name else words(kind) + text(name, 56)

    def thread(name, *places, sample=0):
        opened = [words(number, (9 + i) * second, 812, 530) for i, number in enumerate(places)]
        opened += [words(0, 0, 0, 0)] * (8 - len(opened))
        since = (8 + len(places)) * second
        return (words(3, len(places)) + b"".join(opened) + words(3, 1, 42, 0, sample, since, since, sample)
                + text(name, 16) + text("cat/7.jpg", 128))

    record, queue = 6 * 8, 2 * 8 + 48
    size = 14 * 8 + 8 + 64 + 256 + 256 * 64 + 32 * queue + 96 * len(thread("")) + 96 * 208 * record
    names = [(0, ""), (0, "forward"), (1, "read"), (2, "data"), (3, "the averaging of gradients")]
    tables = b"".join(place(*each) for each in names) + bytes((256 - len(names)) * 64)
    tables += words(4, 6) + text("batches ready", 48) + bytes(31 * queue)
    put("flight", "read", header() + tables + thread("compute", 3) + thread("ft-read", 2, sample=4711))
    put("flight", "failed", header(end=2) + tables + thread("compute", 1, 4))
    put("flight", "odd", header(world=2**64 - 1) + tables)


def configurations():
    configs = ROOT.parents[1] / "configs"
    for path in sorted(configs.glob("*.toml")):
        text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith(("#", "base")))
        put("config", path.stem, text + "\n")
    put("config", "words", 'name = "a"\n[data]\ndataset = "shapes"\n[loader]\nworkers = "auto"\n'
        '[val]\nevery = "2 epochs"\n[snapshot]\nevery = "10 per epoch"\n'
        '[lr]\nwarmup = {length = 5, by = "iter", mode = "factor"}\n')
    put("config", "types", "[data]\ndataset = 5\npath = 1979-05-27\n[loader]\nbatch = -1\nprefetch = [1, 2.5, 'x']\n")
    put("config", "deep", "a = " + "[" * 300 + "]" * 300 + "\n")
    put("config", "dots", "a" + ".a" * 300 + " = 1\n")
    put("config", "strings", "name = '''a\nb'''\n[run]\ndir = \"\\u00e9\\U0001F600\\t\"\n[data]\npath = ''\n")
    put("config", "lists", 'schedule = []\n[data]\ndataset = "shapes"\n[[optim]]\nlabel = "a"\n'
        'params = "^conv(1|2)\\\\."\n'
        '[[optim]]\nlabel = "b"\n[[group]]\nparams = "bias$"\nfrozen = true\n')
    put("config", "bases", 'base = ["a.toml", "../b.toml"]\n')


def torch_files():
    data = ROOT.parent / "snapshot" / "data"
    for name in ["zip.pth", "legacy.pth"]:
        (CORPUS / "torch_archive").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data / name, CORPUS / "torch_archive" / name)
    whole = (data / "zip.pth").read_bytes()
    begin = whole.index(b"\x80\x02")
    put("pickle", "state_dict", whole[begin:whole.index(b"PK\x07\x08")])
    put("pickle", "system", b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R.")
    put("pickle", "protocol4", b"\x80\x04\x95\x20\0\0\0\0\0\0\0\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93)R\x94"
        b".")
    put("pickle", "values", b"\x80\x02(NK\1M\1\1J\1\0\0\0\x8a\1\xffG\x3f\xf0\0\0\0\0\0\0\x88\x89"
        b"U\1aC\1b](K\1K\2et}X\1\0\0\0aNs\x86.")
    put("zip", "torch", whole)
    end = whole.index(b"PK\x05\x06")
    put("zip", "zip64", whole[:end] + b"PK\x05\x06" + bytes(4) + b"\xff" * 12 + bytes(2))
    out = io.BytesIO()
    import zipfile
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/b", b"stored")
        archive.writestr("c", b"c" * 100, compress_type=zipfile.ZIP_DEFLATED)
        archive.comment = b"comment"
    put("zip", "deflated", out.getvalue())


def tables():
    put("csv", "quoted", '\ufeffimage,label,caption,age,box\r\na.jpg,dog,"a ""dog"", it\r\nbarks",3,"[1, 2]"\r\n\r\n'
        'b.png,cat,,4.5,"[3]"')
    put("csv", "classes", "t,labels\nx,red; green\ny,\nz,blue|red\n")
    put("csv", "short", "a,b\n1\n")
    put("csv", "open", 'a,b\n1,"2\n')
    put("json_lines", "kinds", '{"text": "caf\\u00e9", "labels": ["b", "a"], "n": [1, 2.5], "ok": true}\n\n'
        '{"labels": [], "n": [], "ok": false, "more": {"k": [1, "x"]}, "id": null}\n')
    put("json_lines", "class", '{"label": 3}\n{"label": 0}\n')
    put("json_lines", "beyond", '{"n": 1e999}\n')
    put("json_lines", "surrogate", '{"a": "\\ud800"}\n')


def parquet_files():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        print("parquet: its seeds stay as they are, as there is no pyarrow")
        return

    def table(columns, **options):
        out = io.BytesIO()
        options = {"row_group_size": 2, "store_schema": False, **options}
        pyarrow.parquet.write_table(pyarrow.table(columns), out, **options)
        return out.getvalue()

    kinds = table({"text": ["a", None, "\u00e9"], "n": [1, 2, 3], "x": [0.5, 1e300, 2.0], "raw": [b"\0", b"", b"b"],
                   "list": [[1], [], [2, 3]], "words": [["a", "b"], None, []], "label": ["cat", "dog", "cat"]})
    put("parquet", "kinds", kinds)
    put("parquet", "plain", table({"n": [1, 2, 3], "text": ["a", "b", "c"]}, use_dictionary=False, compression="none"))
    put("parquet", "nested", table({"m": [{"a": 1}], "null_item": [[1, None]]}))
    put("parquet", "cut", kinds[: len(kinds) // 2])
    put("parquet", "page", kinds[:60] + bytes(40) + kinds[100:])
    put("parquet", "footer", kinds[:-8] + b"\xff\xff\0\0PAR1")


def npy(descr, shape, data, order="False"):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + data


def arrays():
    pictures, labels = npy("|u1", "(2, 2, 3)", bytes(range(12))), npy("<i8", "(2,)", struct.pack("<2q", 1, 0))
    for target in ["npy", "stored_array"]:
        put(target, "u8", pictures)
        put(target, "f16", npy("<f2", "(3, 1)", bytes.fromhex("003c00bc007c")))
        put(target, "u64", npy("<u8", "(1,)", b"\xff" * 8))
        put(target, "bool", npy("|b1", "(2,)", b"\1\0"))
        put(target, "fortran", npy("<f4", "(1, 1)", b"abcd", "True"))
        put(target, "huge", npy("<f4", "(4611686018427387904, 4)", b"short"))
    import zipfile
    for name, how in [("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)]:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", how) as archive:
            archive.writestr(zipfile.ZipInfo("x.npy"), pictures, how)
            archive.writestr(zipfile.ZipInfo("y.npy"), labels, how)
        put("npz", name, out.getvalue())


def kept_lengths():
    put("lengths", "two", struct.pack("<2I", 5, 7))
    put("lengths", "one", struct.pack("<I", 5))
    put("lengths", "file", b"flowle01" + bytes(24) + struct.pack("<2I", 5, 7))


def wav(tag, bits, channels, samples, told=None, extra=b"", more=b""):
    frame = bits // 8 * channels
    form = struct.pack("<HHIIHH", tag, channels, 16000, 16000 * frame, frame, bits) + extra
    chunks = b"fmt " + struct.pack("<I", len(form)) + form + more
    chunks += b"data" + struct.pack("<I", len(samples) if told is None else told) + samples
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def sounds():
    put("wav", "pcm16", wav(1, 16, 2, struct.pack("<6h", 1, -1, 300, 7, -32768, 32767)))
    put("wav", "pcm8", wav(1, 8, 1, b"\0\x80\xff"))
    guid = bytes.fromhex("000000001000800000aa00389b71")
    put("wav", "extensible", wav(0xFFFE, 24, 1, bytes(range(9)), extra=struct.pack("<HHIH", 22, 24, 4, 1) + guid))
    put("wav", "float", wav(3, 32, 1, struct.pack("<2f", 0.5, -2)))
    put("wav", "nan", wav(3, 64, 1, struct.pack("<2d", 0.5, float("nan"))))
    put("wav", "list", wav(1, 16, 1, b"abcd", more=b"LIST" + struct.pack("<I", 3) + b"xyz\0"))
    put("wav", "pipe", wav(1, 16, 1, b"abcd", told=0xFFFFFFFF))
    put("wav", "lies", wav(1, 16, 1, b"abcd", told=4000))
    put("wav", "no_form", b"RIFF\x10\0\0\0WAVEdata\4\0\0\0abcd")


def speech_lists():
    put("speech_lists", "kaldi", "a a.wav\nb b.wav\n===\na-1 a 0 0.5\na-2 a 0.5 -1\nb-1 b 0.25 1\n===\n"
        "a-1 hello there\na-2 you\nb-1 he\n===\na-1 ann\na-2 ann\nb-1 bob\n")
    put("speech_lists", "kaldi_whole", "a a.wav\nb b.wav\n===\n===\na one\nb two\n")
    put("speech_lists", "kaldi_pipe", "a sox a.wav -t wav - |\n")
    put("speech_lists", "common_voice", "client_id\tpath\tsentence\tup_votes\nann\ta.mp3\tHello \"there\"\t2\n"
        "bob\tb\tHé\t\n")
    put("speech_lists", "librispeech", "1-2-0000 HELLO THERE\n1-2-0001 YOU\n")
    put("speech_lists", "librispeech_odd", "1-2-0000\n1-2-0007 NOT THERE\n\n1-2-0000 TWICE\n")


def compressed_sounds():
    import numpy
    import soundfile

    tone = numpy.sin(numpy.arange(600) * 0.1).astype("float32") * 0.5
    for name, kind, subtype, channels in [("flac", "FLAC", "PCM_16", 1), ("flac24", "FLAC", "PCM_24", 2),
                                          ("ogg", "OGG", "VORBIS", 1), ("opus", "OGG", "OPUS", 1),
                                          ("mp3", "MP3", "MPEG_LAYER_III", 1), ("alaw", "WAV", "ALAW", 1),
                                          ("adpcm", "WAV", "MS_ADPCM", 1), ("rf64", "RF64", "PCM_16", 1)]:
        out = io.BytesIO()
        rows = numpy.stack([tone] * channels, axis=1)
        soundfile.write(out, rows, 8000, format=kind, subtype=subtype)
        put("sound", name, out.getvalue())
    put("sound", "twice", out.getvalue() * 2)
    mp3 = (CORPUS / "sound" / "mp3").read_bytes()
    put("sound", "mp3_id3", b"ID3\x04\0\0\0\0\0\x05hello" + mp3)
    put("sound", "mp3_cut", mp3[:-50])
    put("sound", "wav", wav(1, 16, 2, struct.pack("<6h", 1, -1, 300, 7, -32768, 32767)))


STATE = {
    "iteration": 7, "samples_per_epoch": 100, "order_xxh64_state": "xxh64-0-00", "order_xxh64": "0" * 16,
    "losses": [0.5, 1e300, None], "best": [{"iteration": 5, "value": 0.5}], "validation_batches": 3,
    "validation_pending": False, "bad_samples": [1, 2], "elapsed_s": 1.5,
}


def states():
    put("state", "odd", json.dumps(dict(STATE, iteration=-1, samples_per_epoch=1e300)))
    put("state", "deep", "[" * 500)


def tokenizers():
    def message(field, value):
        return bytes([field << 3 | 2, len(value)]) + value

    pairs = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3}, "merges": ["a b"]},
             "pre_tokenizer": {"type": "ByteLevel"}, "decoder": {"type": "ByteLevel"},
             "added_tokens": [{"id": 4, "content": "<s>", "special": True, "lstrip": True}]}
    put("tokenizer_json", "pairs", json.dumps(pairs))
    split = {"type": "Split", "pattern": {"Regex": "\\s+|\\p{L}+"}, "behavior": "MergedWithNext"}
    put("tokenizer_json", "split", json.dumps(dict(pairs, pre_tokenizer={
        "type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel", "use_regex": False}]})))
    put("tokenizer_json", "pieces", json.dumps({
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "it": 1, "##s": 2}, "unk_token": "[UNK]"},
        "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece"},
        "post_processor": {"type": "BertProcessing", "cls": ["it", 1], "sep": ["s", 2]}}))
    put("tokenizer_json", "unigram", json.dumps({
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["\u2581", -1.0], ["a", -2.5]]},
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Metaspace"}, "decoder": {"type": "Metaspace"}}))
    put("tokenizer_json", "deep", '{"model": ' + "[" * 500)
    import base64
    ranks = "".join(f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    put("rank_file", "bytes", ranks)
    put("rank_file", "pairs", ranks + "YWI= 256\nYWJj 257\n")
    put("rank_file", "torn", ranks[:100])
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("\u2581", -1.0, 1), ("a", -2.0, 1),
              ("\u2581a", -0.5, 1), ("xy", 0.0, 4)]
    body = b"".join(message(1, message(1, text.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind]))
                    for text, score, kind in pieces)
    put("sentencepiece", "unigram", body)
    put("sentencepiece", "bpe", body + message(2, b"\x18\x02"))
    put("sentencepiece", "map", body + message(3, message(2, struct.pack("<II", 4, 0) + b"a\0")))
    put("sentencepiece", "torn", body[:-3])


def language_models():
    whole = ("\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99 <s> -0.5\n-1 </s>\n-0.5 cat -0.25\n-2 <unk>\n\n"
             "\\2-grams:\n-0.25 <s> cat\n-0.7 cat </s>\n\n\\end\\\n")
    put("arpa", "bigrams", whole)
    put("arpa", "torn", whole[:120])
    put("arpa", "counts", whole.replace("1=4", "1=9").replace("2=2", "2=999999999999"))
    put("arpa", "huge", whole.replace("-0.5 cat -0.25", "-1e300 cat -1e300"))


def texts():
    put("text_index", "lines", "one\r\n\n \t\ntwo\nno newline")
    put("text_index", "paragraphs", "\n\na\r\nb\r\n\r\n \nc\n\n\nd\ne\n\n")
    put("text_index", "kept", bytes([0, 3, 2, 5, 1, 0x80 | 7, 1]))
    put("text_index", "zeros", bytes([0, 0x83, 0]))
    put("text_index", "torn", bytes([0, 3, 0xff, 0xff]))

    def shard(documents, vocabulary=1000, width=2, end=999, wrong=()):
        ids = [each for document in documents for each in document]
        places = [sum(map(len, documents[:count])) for count in range(len(documents) + 1)]
        fields = dict(magic=b"flowtoks", version=1, width=width, ids=len(ids), documents=len(documents))
        fields.update(wrong)  # a header that lies
        header = struct.pack("<8sIIQQQIIQQQ", *fields.values(), vocabulary, end, 0, 0, len(documents), 10)
        return header + struct.pack(f"<{len(places)}Q", *places) + struct.pack(f"<{len(ids)}{'?.H.I'[width]}", *ids)

    put("token_shard", "narrow", shard([[1, 2, 999], [999], [5, 999]]))
    put("token_shard", "wide", shard([[1, 70000], [3]], vocabulary=100000, width=4, end=0xffffffff))
    put("token_shard", "empty", shard([]))
    put("token_shard", "beyond", shard([[1, 1000]]))
    put("token_shard", "huge", shard([[1]], wrong={"ids": 2**63, "documents": 2**61}))
    put("token_shard", "torn", shard([[1, 2, 3]])[:90])
    put("token_shard", "places", struct.pack("<3Q4H", 0, 1, 4, 999, 1, 2, 999))


jpegs()
pngs()
webps()
annotations()
coco_files()
idx_files()
cifar_files()
archives()
weights()
snapshots()
flight_records()
configurations()
torch_files()
tables()
parquet_files()
arrays()
kept_lengths()
sounds()
compressed_sounds()
speech_lists()
states()
tokenizers()
language_models()
texts()
