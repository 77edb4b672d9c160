#!/usr/bin/env python3
"""The line of data for speech, from WAV files to padded batches of log-mel features: flowtrain beside other loaders.

    python benchmarks/speech_line.py FOLDER [--count 1000] [--rounds 5] [--seconds 5] [--workers 2] [--batch 16]

The recordings are drawn: noise that swells and fades, 16 bits, one channel, 2 to 20 seconds (lognormal), at 16 kHz;
with --rate another rate, and each loader resamples. FOLDER keeps them. All loaders make features of 80 bins, of frames
of 25 ms every 10 ms, from the same files in a shuffled order, and nobody reads the batches. In each round all of them
run in turn, and in the next round in the opposite order. Two tables in Markdown:

- Loaders, with as many workers each. Padded batches have --batch rows; bucketed ones have rows of like length, as many
  as fit into so many seconds as the padded ones hold on average. Ratios are those of a round, to flowtrain where it
  computes the same values in batches of the same kind: its rate divided by the loader's, and the loader's CPU seconds
  divided by its own.
- flowtrain with one worker, on the recordings and on slices of long ones (a table with begin and end), which hold the
  same sound.

Rates are seconds of sound (frames of 10 ms, without padding) per second, medians (least to greatest). CPU seconds are
those of all threads and processes.

It needs numpy, and the program (build/release/bin/flowtrain, or what FLOWTRAIN names). Loaders that lack a package are
left out, which is said below the table: torch and torchaudio 2.11 with soundfile, or with torchcodec 0.11 and FFmpeg's
libraries for torchaudio.load, which reads no file itself any more; lhotse with torchaudio and soundfile.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
import wave
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("FLOWTRAIN", HERE.parent / "build/release/bin/flowtrain"))
RATE, FRAME, HOP, BINS = 16000, 400, 160, 80  # Hz, samples, samples, mel filters
SHORTEST, LONGEST, USUAL, SPREAD = 2, 20, 7, 0.6  # seconds, and the deviation of their logarithm
SLICES = 40  # slices of each long recording
FRAMES_PER_S = RATE // HOP
#: The keys of the field `logmel` that give the values of a peer.
VALUES = {"torchaudio": 'values = "torchaudio"\n', "lhotse": 'values = "kaldi"\nedges = "reflect"\namplitude = 1.0\n'}


# ---- Recordings ----

def write_wav(path, rate, samples):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.tobytes())


def draw_recordings(options):
    """Writes the recordings, and the long ones with their table. Returns the seconds of each recording."""
    random = numpy.random.default_rng(1)
    lengths = numpy.empty(0)
    while len(lengths) < options.count:
        drawn = random.lognormal(math.log(USUAL), SPREAD, options.count)
        lengths = numpy.append(lengths, drawn[(SHORTEST <= drawn) & (drawn <= LONGEST)])
    lengths = (lengths[:options.count] * options.rate).astype(int)
    for name in ("recordings", "long"):
        shutil.rmtree(options.folder / name, ignore_errors=True)
        (options.folder / name).mkdir(parents=True)
    lines, joined = ["audio,begin,end"], []
    for number, length in enumerate(lengths):
        swell = 1.1 + numpy.sin(numpy.arange(length) * (2 * math.pi * random.uniform(1, 4) / options.rate))
        samples = (2000 * swell * random.standard_normal(length, numpy.float32)).clip(-32768, 32767).astype("<i2")
        write_wav(options.folder / "recordings" / f"{number:06}.wav", options.rate, samples)
        begin = sum(map(len, joined)) / options.rate
        joined.append(samples)
        name = f"long/{number // SLICES:06}.wav"
        lines.append(f"{name},{begin:.6f},{begin + length / options.rate:.6f}")
        if len(joined) == SLICES or number + 1 == options.count:
            write_wav(options.folder / name, options.rate, numpy.concatenate(joined))
            joined = []
    (options.folder / "slices.csv").write_text("\n".join(lines) + "\n")
    os.sync()  # so that nothing is written while others are measured
    return lengths / options.rate


# ---- flowtrain ----

def bench(options, values, bucketed=False, slices=False, workers=None):
    """Returns what `flowtrain bench` measures of the whole loader, as measure() does."""
    data = (f'dataset = "manifest"\npath = "{options.folder}/slices.csv"\n' if slices
            else f'dataset = "audio_folder"\npath = "{options.folder}/recordings"\nlabels = "none"\n')
    batch = f"budget = {round(options.budget * FRAMES_PER_S)}\n" if bucketed else f"batch = {options.batch}\n"
    config, out = options.folder / "line.toml", options.folder / "bench.json"
    config.write_text(
        f'[run]\ndevice = "cpu"\nseed = 1\n[data]\n{data}'
        f'[[field]]\nname = "features"\nfrom = "audio"\nas = "logmel"\n{VALUES[values]}rate = {RATE}\nbins = {BINS}\n'
        f'frame_ms = {1000 * FRAME / RATE}\nhop_ms = {1000 * HOP / RATE}\nmax = {LONGEST}.0\n'
        f'[loader]\n{batch}workers = {workers or options.workers}\n')
    command = [PROGRAM, "bench", config, "--stage", "pipeline", "--seconds", str(options.seconds), "--json", out]
    # The lengths that the program keeps are of no use to later runs.
    environment = {**os.environ, "XDG_CACHE_HOME": str(options.folder / "cache")}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ran.returncode != 0:
        sys.exit(f"{PROGRAM}: {ran.stderr}")
    found = json.loads(out.read_text())["pipeline"]
    sound = found["positions_per_s"] / FRAMES_PER_S
    return {"rate": sound, "cpu": found["cpu_s_per_1000"] / 1000 * found["samples_per_s"] / sound,
            "padding": found["padding"], "version": "as built"}


# ---- Other loaders: iterators without end of (features (B, T, BINS), frames of each row) ----

def torch_batches(options, read):
    """`read` returns the samples of a file, f32 (N)."""
    import torch
    import torchaudio

    torch.set_num_threads(1)  # workers have one, too
    mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=FRAME, hop_length=HOP, n_mels=BINS)
    resample = torchaudio.transforms.Resample(options.rate, RATE) if options.rate != RATE else torch.nn.Identity()

    class Recordings(torch.utils.data.Dataset):
        def __init__(self):
            self.paths = sorted(map(str, options.folder.glob("recordings/*.wav")))

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, index):
            return (mel(resample(read(self.paths[index]))) + 1e-6).log().T

    def collate(rows):
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])

    recordings = Recordings()
    recordings[0]  # fails here, and not in a worker, if something is missing
    loader = torch.utils.data.DataLoader(recordings, options.batch, shuffle=True, num_workers=options.workers,
                                         collate_fn=collate, persistent_workers=True)
    while True:
        yield from loader


def soundfile_batches(options):
    import soundfile
    import torch

    return torch_batches(options, lambda path: torch.from_numpy(soundfile.read(path, dtype="float32")[0]))


def torchaudio_batches(options):
    import torchaudio

    return torch_batches(options, lambda path: torchaudio.load(path)[0][0])


def lhotse_batches(options, bucketed=False):
    import lhotse
    import torch
    from lhotse.dataset import DynamicBucketingSampler, K2SpeechRecognitionDataset, OnTheFlyFeatures, SimpleCutSampler

    def cut_of(path):
        cut = lhotse.Recording.from_file(path).to_cut()
        cut.supervisions = [lhotse.SupervisionSegment(cut.id, cut.recording_id, 0, cut.duration, text="")]
        return cut if options.rate == RATE else cut.resample(RATE)

    torch.set_num_threads(1)
    cuts = lhotse.CutSet.from_cuts(map(cut_of, sorted(options.folder.glob("recordings/*.wav")))).to_eager()
    # The bounds of the filters are those of Kaldi and flowtrain.
    fbank = lhotse.Fbank(lhotse.FbankConfig(sampling_rate=RATE, frame_length=FRAME / RATE, frame_shift=HOP / RATE,
                                            num_filters=BINS, low_freq=20.0, high_freq=0.0))
    sampler = (DynamicBucketingSampler(cuts, max_duration=options.budget, shuffle=True) if bucketed
               else SimpleCutSampler(cuts, max_cuts=options.batch, shuffle=True))
    # A recording at a time is quicker on a CPU than lhotse's default, all of a batch with their padding.
    recordings = K2SpeechRecognitionDataset(input_strategy=OnTheFlyFeatures(fbank, use_batch_extract=False))
    loader = torch.utils.data.DataLoader(recordings, batch_size=None, sampler=sampler, num_workers=options.workers,
                                         persistent_workers=True)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        for batch in loader:
            yield batch["inputs"], batch["supervisions"]["num_frames"]
        epoch += 1


PEERS = {
    "soundfile": (("soundfile", "torchaudio"), soundfile_batches),
    "torchaudio": (("torchaudio", "torchcodec"), torchaudio_batches),
    "lhotse": (("lhotse",), lhotse_batches),
    "lhotse-bucketed": (("lhotse",), lambda options: lhotse_batches(options, bucketed=True)),
}


def measure(peer, options):
    """Consumes batches of a peer in this process, for some seconds after the first two of each worker."""
    import importlib.metadata

    sys.path.insert(0, str(HERE / "peers"))
    import processes

    packages, batches_of = PEERS[peer]
    me, batches = os.getpid(), batches_of(options)
    for _ in range(2 * options.workers):
        features, _ = next(batches)
    assert features.shape[2] == BINS
    filled = positions = 0
    cpu_s, begin = processes.cpu_s(me), time.perf_counter()
    while time.perf_counter() < begin + options.seconds:
        features, lengths = next(batches)
        filled += int(lengths.sum())
        positions += features.shape[0] * features.shape[1]
    wall_s = time.perf_counter() - begin
    sound = filled / FRAMES_PER_S
    return {"rate": sound / wall_s, "cpu": (processes.cpu_s(me) - cpu_s) / sound, "padding": 1 - filled / positions,
            "version": ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)}


def run_peer(peer, options):
    """Returns what measure() does in a process of its own, or the reason why there is nothing as a str."""
    words = [f"--{key}={getattr(options, key)}" for key in ("count", "seconds", "workers", "batch", "rate", "budget")]
    command = [sys.executable, "-B", __file__, options.folder, "--peer", peer, *words]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300 + options.seconds)
    except subprocess.TimeoutExpired:
        return "nothing for 300 s"
    lines = (ran.stdout if ran.returncode == 0 else ran.stderr).strip().splitlines() or ["it says nothing"]
    return json.loads(lines[-1]) if ran.returncode == 0 else lines[-1][:160]


# ---- Tables ----

#: Name, kind of batches, what measures it, and the line of flowtrain that its ratio is of.
LOADERS = [
    ("flowtrain, torchaudio's values", "padded", lambda o: bench(o, "torchaudio"), 0),
    ("torch `DataLoader`, soundfile, torchaudio", "padded", lambda o: run_peer("soundfile", o), 0),
    ("torch `DataLoader`, torchaudio.load", "padded", lambda o: run_peer("torchaudio", o), 0),
    ("flowtrain, lhotse's values", "padded", lambda o: bench(o, "lhotse"), 3),
    ("lhotse, `SimpleCutSampler`", "padded", lambda o: run_peer("lhotse", o), 3),
    ("flowtrain, lhotse's values", "bucketed", lambda o: bench(o, "lhotse", bucketed=True), 5),
    ("lhotse, `DynamicBucketingSampler`", "bucketed", lambda o: run_peer("lhotse-bucketed", o), 5),
]
ALONE = [
    ("recordings", "padded", lambda o: bench(o, "lhotse", workers=1)),
    ("slices", "padded", lambda o: bench(o, "lhotse", slices=True, workers=1)),
    ("slices", "bucketed", lambda o: bench(o, "lhotse", slices=True, bucketed=True, workers=1)),
]


def spread(numbers, form):
    return f"{statistics.median(numbers):{form}} ({min(numbers):{form}} to {max(numbers):{form}})"


def column(runs, key):
    return [run[key] for run in runs if run]


def print_loaders(runs, workers):
    print(f"| loader, {workers} workers | version | batches | seconds of sound/s | ratio | CPU s per 1,000 s of sound "
          "| ratio | padding |\n" + "|---" * 8 + "|")
    for (name, kind, _, beside), own in zip(LOADERS, runs):
        if any(own):
            pairs = [(ours, theirs) for ours, theirs in zip(runs[beside], own) if theirs]
            cells = (name, column(own, "version")[0], kind, spread(column(own, "rate"), ",.0f"),
                     spread([ours["rate"] / theirs["rate"] for ours, theirs in pairs], ".2f"),
                     f'{1000 * statistics.median(column(own, "cpu")):.3g}',
                     spread([theirs["cpu"] / ours["cpu"] for ours, theirs in pairs], ".2f"),
                     f'{100 * statistics.median(column(own, "padding")):.1f} %')
            print(f"| {' | '.join(cells)} |")


def print_alone(runs):
    print("\n| flowtrain, 1 worker | batches | seconds of sound/s | seconds of sound per CPU s | padding |\n"
          + "|---" * 5 + "|")
    for (name, kind, _), own in zip(ALONE, runs):
        cells = (name, kind, spread(column(own, "rate"), ",.0f"),
                 spread([1 / cpu for cpu in column(own, "cpu")], ",.0f"),
                 f'{100 * statistics.median(column(own, "padding")):.1f} %')
        print(f"| {' | '.join(cells)} |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000, help="draw this many recordings")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="measure each loader for this long in a round")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16, help="put this many rows into a padded batch")
    parser.add_argument("--rate", type=int, default=RATE, help="draw recordings of this rate; loaders resample them")
    parser.add_argument("--budget", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    return options


def main():
    options = parse()
    if options.peer:
        try:
            print(json.dumps(measure(options.peer, options)), flush=True)
        except (ImportError, RuntimeError) as error:
            sys.exit(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
        return
    seconds = draw_recordings(options)
    options.budget = float(options.batch * seconds.mean())
    lines = LOADERS + ALONE
    runs, missing = [[] for _ in lines], {}
    for number in range(options.rounds):
        for index in range(len(lines)) if number % 2 == 0 else reversed(range(len(lines))):
            run = None if index in missing else lines[index][2](options)
            if isinstance(run, str):
                missing[index], run = run, None
            runs[index].append(run)
    print(f"{options.count:,} recordings of {seconds.min():.1f} to {seconds.max():.1f} s at {options.rate:,} Hz, "
          f"{seconds.sum() / 3600:.2f} h in all; {options.batch} rows, or {options.budget:.0f} s, a batch; "
          f"{options.rounds} rounds of {options.seconds:g} s.\n")
    print_loaders(runs[:len(LOADERS)], options.workers)
    for index, reason in missing.items():
        print(f"\n{lines[index][0]} was not measured: {reason}")
    print_alone(runs[len(LOADERS):])


if __name__ == "__main__":
    main()
