"""Writes the features that a reference makes of signals, as f32 one after the other.

    features_peer.py KIND SIGNALS OUTPUT

SIGNALS holds f32: for each signal its length, and its samples. KIND is one of the functions below.
"""
import sys

import numpy


def torchaudio_logmel(x):
    import torch
    import torchaudio
    mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=400, hop_length=160, n_mels=80)
    return torch.log(mel(torch.from_numpy(x)) + 1e-6).T.numpy()


def torchaudio_slaney(x):
    import torch
    import torchaudio
    mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=512, win_length=400, hop_length=160, n_mels=40, f_min=50,
                                               f_max=7600, window_fn=torch.hamming_window, norm="slaney",
                                               mel_scale="slaney", center=False)
    return torch.log(mel(torch.from_numpy(x)) + 1e-6).T.numpy()


def torchaudio_mfcc(x):
    import torch
    import torchaudio
    mfcc = torchaudio.transforms.MFCC(16000, n_mfcc=13, melkwargs={"n_fft": 400, "hop_length": 160, "n_mels": 23})
    return mfcc(torch.from_numpy(x)).T.numpy()


def whisper(x):
    # openai/whisper's log_mel_spectrogram; its file of filters has those of librosa, which torchaudio computes as well.
    import torch
    import torchaudio
    filters = torchaudio.functional.melscale_fbanks(201, 0.0, 8000.0, 80, 16000, norm="slaney", mel_scale="slaney")
    power = torch.stft(torch.from_numpy(x), 400, 160, window=torch.hann_window(400), return_complex=True)
    power = power[..., :-1].abs() ** 2
    values = torch.clamp(filters.T @ power, min=1e-10).log10()
    values = (torch.maximum(values, values.max() - 8.0) + 4.0) / 4.0
    return values.T.numpy()


def online(x, kind, options):
    import kaldi_native_fbank
    options.frame_opts.dither = 0
    computer = getattr(kaldi_native_fbank, kind)(options)
    computer.accept_waveform(options.frame_opts.samp_freq, (x * numpy.float32(32768)).tolist())
    computer.input_finished()
    return numpy.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])


def kaldi_logmel(x, snip=True, rate=16000, bins=80, frame_ms=25, hop_ms=10):
    import kaldi_native_fbank
    options = kaldi_native_fbank.FbankOptions()
    options.mel_opts.num_bins = bins
    options.frame_opts.snip_edges = snip
    options.frame_opts.samp_freq = rate
    options.frame_opts.frame_length_ms = frame_ms
    options.frame_opts.frame_shift_ms = hop_ms
    return online(x, "OnlineFbank", options)


def kaldi_reflected(x):
    return kaldi_logmel(x, snip=False)


def kaldi_11025_hertz(x):
    return kaldi_logmel(x, rate=11025, bins=40)


def kaldi_22050_hertz(x):
    return kaldi_logmel(x, rate=22050, bins=40)


def kaldi_44100_hertz(x):
    return kaldi_logmel(x, rate=44100, bins=40, hop_ms=2.5)


def kaldi_fractions(x):
    return kaldi_logmel(x, bins=23, frame_ms=11.3, hop_ms=3.7)


def kaldi_gaps(x):
    return kaldi_logmel(x, snip=False, bins=23, frame_ms=10, hop_ms=15)


def kaldi_mfcc(x, energy=False):
    import kaldi_native_fbank
    options = kaldi_native_fbank.MfccOptions()
    options.use_energy = energy
    return online(x, "OnlineMfcc", options)


def kaldi_energy(x):
    return kaldi_mfcc(x, energy=True)


def main():
    kind, signals, output = sys.argv[1:]
    numbers = numpy.fromfile(signals, dtype=numpy.float32)
    with open(output, "wb") as file:
        at = 0
        while at < len(numbers):
            length = int(numbers[at])
            globals()[kind](numbers[at + 1:at + 1 + length]).astype(numpy.float32).tofile(file)
            at += 1 + length


main()
