#include <filesystem>
#include <string>
#include <string_view>

#include "sampling/audio/sound.h"
#include "sampling/datasets/entries.h"
#include "tests/fuzz/support/data_set_target.h"
#include "tests/support/settings_helper.h"

// Takes the input as the lists of each layout of recordings with transcripts: a line with "===" parts those of Kaldi.
// Recordings of one second are there under some names.
FUZZ_TARGET(speech_lists) {
  using namespace flowtrain;
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto root = fuzz::as_file({}, "none").parent_path();
  const auto write = [](std::string_view part, const std::string& name) {
    fuzz::as_file(std::as_bytes(std::span(part)), name);
  };
  static const auto recording = [] {
    std::vector<std::byte> wav;
    encode_wav({.samples = {.5F, -.5F, .25F, 0}, .channels = 1, .rate = 4}, wav);
    return wav;
  }();
  const auto read_as = [&](const DatasetEntry& entry, const char* folder) {
    try {
      read_all(*entry.make(settings_for(entry.keys, {{"path", (root / folder).string()}}), {.training = true}));
    } catch (const UserError& error) {
      fuzz::require(*error.what() != 0, "a refusal without a message");
    }
  };
  for (const char* folder : {"kaldi", "voice/clips", "libri/train/1/2"})
    std::filesystem::create_directories(root / folder);
  auto rest = text;
  for (const char* list : {"kaldi/wav.scp", "kaldi/segments", "kaldi/text", "kaldi/utt2spk"}) {
    const auto end = rest.find("===\n");
    write(rest.substr(0, end), list);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 4);
  }
  for (const char* name : {"a.wav", "b.wav"}) fuzz::as_file(recording, std::string("kaldi/") + name);
  read_as(kaldi_entry(), "kaldi");
  for (const char* clip : {"a.mp3", "b.mp3"}) fuzz::as_file(recording, std::string("voice/clips/") + clip);
  write(text, "voice/train.tsv");
  read_as(common_voice_entry(), "voice");
  for (const char* name : {"1-2-0000.flac", "1-2-0001.flac"})
    fuzz::as_file(recording, std::string("libri/train/1/2/") + name);
  write(text, "libri/train/1/2/1-2.trans.txt");
  read_as(librispeech_entry(), "libri");
}
