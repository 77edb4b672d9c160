#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/sound_forms.h"
#include "sampling/named_dataset.h"
#include "sampling/sources/hold_out.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/sounds.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::audio_test {
namespace {

using Texts = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, Value>>;

/// A folder, and a cache for what tests keep.
struct Place : TempFolder {
  TempFolder cache;
  Place() { setenv("XDG_CACHE_HOME", cache.path().c_str(), 1); }
};

std::unique_ptr<Dataset> open(const DatasetEntry& entry, const std::filesystem::path& path, Values values = {},
                              bool training = true) {
  values.emplace_back("path", path.string());
  return entry.make(settings_for(entry.keys, values), {training});
}

/// Returns what the parts of a record hold: of audio the number of frames; checks that the outline tells the same.
std::string shown(const Dataset& set, std::uint64_t id) {
  ReadBuffer buffer, outline_buffer;
  Record outline;
  REQUIRE(set.outline(id, outline, outline_buffer));
  const auto record = set.read(id, buffer);
  REQUIRE(outline.parts.size() == record.parts.size());
  std::string text;
  for (std::size_t i = 0; i < record.parts.size(); ++i) {
    const auto& part = record.parts[i];
    CHECK(outline.parts[i].name == part.name);
    text += (text.empty() ? "" : " ") + std::string(part.name) + "=";
    if (part.encoding == Encoding::audio) {
      Sound sound;
      decode_sound(part.bytes, sound);
      text += std::to_string(sound.frames());
      REQUIRE(outline.parts[i].shape.size() == 3);
      CHECK(outline.parts[i].shape[0] == static_cast<std::int64_t>(sound.frames()));
      CHECK(outline.parts[i].shape[1] == sound.channels);
      CHECK(outline.parts[i].shape[2] == sound.rate);
    } else if (part.encoding == Encoding::text) {
      text += bytes_of(part.bytes);
      CHECK(outline.parts[i].shape[0] == static_cast<std::int64_t>(part.bytes.size()));
    }
  }
  return text;
}

Texts all_shown(const Dataset& set) {
  Texts all;
  for (std::uint64_t id = 0; id < set.size(); ++id) all.push_back(shown(set, id));
  return all;
}

TEST_CASE("audio_folder: folders are classes, in a folder and in an archive, with splits") {
  const Place place;
  TarBytes tar;
  for (const auto& [name, frames] :
       {std::pair("train/no/a.wav", 10), std::pair("train/yes/b.WAV", 20), std::pair("val/no/c.wav", 30)}) {
    place.write("set/" + std::string(name), wav_of(tone(static_cast<std::uint64_t>(frames))));
    tar.entry(name, wav_of(tone(static_cast<std::uint64_t>(frames))));
  }
  place.write("set/train/yes/notes.txt", "x");
  place.write("set.tar", tar.end());
  for (const char* path : {"set", "set.tar"}) {
    const auto set = open(audio_folder_entry(), place.path() / path);
    CHECK(all_shown(*set) == Texts{"audio=10", "audio=20"});
    CHECK(set->classes() == Texts{"no", "yes"});
    CHECK(set->label(1) == 1);
    CHECK(name_of(*set, 1) == "yes/b.WAV");
    CHECK(all_shown(*open(audio_folder_entry(), place.path() / path, {}, false)) == Texts{"audio=30"});
  }
  const auto noise = open(audio_folder_entry(), place.path() / "set/train", {{"labels", "none"}});
  CHECK(all_shown(*noise) == Texts{"audio=10", "audio=20"});
  CHECK(noise->classes().empty());
  CHECK(noise->label(0) == -1);
  CHECK(open(audio_folder_entry(), place.path() / "set", {{"labels", "none"}})->size() == 2);
  place.write("one/train/a.wav", wav_of(tone(10)));
  place.write("one/b.wav", wav_of(tone(20)));
  const auto named = open(audio_folder_entry(), place.path() / "one", {{"labels", "none"}, {"split", "train"}});
  CHECK(all_shown(*named) == Texts{"audio=10"});
  CHECK(name_of(*named, 0) == "a.wav");
  place.write("empty/a/x.m4a", "x");
  check_failure(failure_of<EmptyDataset>([&] { open(audio_folder_entry(), place.path() / "empty"); }), ExitCode::data,
                "no recordings (.wav");
}

TEST_CASE("librispeech: transcripts beside recordings, with splits by the first words of folders") {
  const Place place;
  const auto add = [&](const std::string& folder, const std::string& speaker, std::uint64_t frames) {
    const auto base = "ls/" + folder + "/" + speaker + "/7/" + speaker + "-7";
    place.write(base + "-0000.wav", wav_of(tone(frames)));
    place.write(base + ".trans.txt", speaker + "-7-0000 IT IS " + speaker + "\n" + speaker + "-7-0001 LOST\n");
  };
  add("train-clean-100", "12", 100);
  add("train-other-500", "13", 110);
  add("dev-clean", "14", 120);
  add("dev-other", "15", 130);
  add("test-clean", "16", 140);
  const auto path = place.path() / "ls";
  CHECK(all_shown(*open(librispeech_entry(), path)) ==
        Texts{"audio=100 text=IT IS 12 speaker=12", "audio=110 text=IT IS 13 speaker=13"});
  CHECK(open(librispeech_entry(), path, {}, false)->size() == 2);
  CHECK(all_shown(*open(librispeech_entry(), path, {{"split", "test-clean"}})) ==
        Texts{"audio=140 text=IT IS 16 speaker=16"});
  CHECK(open(librispeech_entry(), path / "dev-clean")->size() == 1);
  check_failure(failure_of([&] {
                  open(librispeech_entry(), path, {{"split", "train-clean-360"}});
                }),
                ExitCode::data, "there are dev-clean, dev-other, test-clean, train-clean-100, train-other-500");
}

TEST_CASE("common_voice: a list's clips with sentences that may hold quotes") {
  const Place place;
  const std::string head = "client_id\tpath\tsentence\tup_votes\n";
  place.write("en/clips/a.wav", wav_of(tone(50)));
  place.write("en/train.tsv", head + "s1\ta.wav\t\"Well,\" he said.\t2\n");
  place.write("en/dev.tsv", head + "s2\ta.wav\tno\t2\n");
  CHECK(all_shown(*open(common_voice_entry(), place.path() / "en")) ==
        Texts{"audio=50 text=\"Well,\" he said. speaker=s1"});
  CHECK(all_shown(*open(common_voice_entry(), place.path() / "en", {}, false)) == Texts{"audio=50 text=no speaker=s2"});
  place.write("en/short.tsv", head + "s1\ta.wav\n");
  check_failure(failure_of([&] {
                  open(common_voice_entry(), place.path() / "en", {{"split", "short"}});
                }),
                ExitCode::data, "short.tsv:2: there are 2 cells, but 4 columns");
  place.write("en/twice.tsv", head + "s1\ta.wav\tyes\t2\ns2\ta.wav\tno\t2\n");
  check_failure(failure_of([&] {
                  open(common_voice_entry(), place.path() / "en", {{"split", "twice"}});
                }),
                ExitCode::data, "twice.tsv:3: there is a second line for a.wav");
  check_failure(failure_of([&] {
                  open(common_voice_entry(), place.path() / "en", {{"split", "other"}});
                }),
                ExitCode::data, "there is no list other.tsv");
}

TEST_CASE("common_voice: without a list to validate on, both sides read that of training, which is to be divided") {
  const Place place;
  const std::string head = "client_id\tpath\tsentence\n";
  place.write("en/clips/a.wav", wav_of(tone(50)));
  place.write("en/train.tsv", head + "s1\ta.wav\tyes\n");
  place.write("en/validated.tsv", head);
  place.write("en/val_share-0.1.tsv", "name\tsplit\n");
  for (const bool training : {true, false}) {
    const auto set = open(common_voice_entry(), place.path() / "en", {}, training);
    CHECK(all_shown(*set) == Texts{"audio=50 text=yes speaker=s1"});
    CHECK_FALSE(dynamic_cast<const NamedDataset&>(*set).has_split());
  }
  place.write("en/test.tsv", head + "s2\ta.wav\tno\n");
  for (const bool training : {true, false}) {
    const auto set = open(common_voice_entry(), place.path() / "en", {}, training);
    CHECK(all_shown(*set) == Texts{training ? "audio=50 text=yes speaker=s1" : "audio=50 text=no speaker=s2"});
    CHECK(dynamic_cast<const NamedDataset&>(*set).has_split());
  }
  check_failure(failure_of([&] { open(common_voice_entry(), place.path()); }), ExitCode::data,
                "there is no list train.tsv");
}

TEST_CASE("kaldi: recordings and segments with texts and speakers") {
  const Place place;
  place.write("k/train/long.wav", wav_of(tone(16000)));
  place.write("k/train/wav.scp", "rec1 long.wav\n");
  CHECK(all_shown(*open(kaldi_entry(), place.path() / "k/train")) == Texts{"audio=16000"});
  place.write("k/train/segments", "u1 rec1 0.1 0.35\nu2 rec1 0.5 -1\nu3 rec1 0.2 0.3\n");
  place.write("k/train/text", "u1 hello  there\nu2 you\n");
  place.write("k/train/utt2spk", "u1 ann\nu2 bob\n");
  const auto set = open(kaldi_entry(), place.path() / "k");
  CHECK(all_shown(*set) == Texts{"audio=4000 text=hello  there speaker=ann", "audio=8000 text=you speaker=bob"});
  CHECK(name_of(*set, 0) == "rec1");
  CHECK(set->describe(0) == (place.path() / "k/train/long.wav").string() + " from 0.1 s to 0.35 s");
  place.write("copy/long.wav", "moved");
  for (const char* list : {"wav.scp", "segments", "text", "utt2spk"})
    std::filesystem::copy(place.path() / "k/train" / list, place.path() / "copy" / list);
  CHECK(open(kaldi_entry(), place.path() / "copy")->fingerprint() == set->fingerprint());
  place.write("copy/wav.scp", "rec1 other.wav\n");
  CHECK(open(kaldi_entry(), place.path() / "copy")->fingerprint() != set->fingerprint());
  const auto refused = [&](const char* list, const std::string& text, const std::string& what) {
    place.write(std::string("k/train/") + list, text);
    check_failure(failure_of([&] { open(kaldi_entry(), place.path() / "k/train"); }), ExitCode::data, what);
  };
  static Texts warnings;
  warnings.clear();
  place.write("k/train/utt2spk", "u2 bob\n");
  set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  CHECK(all_shown(*open(kaldi_entry(), place.path() / "k/train")) ==
        Texts{"audio=4000 text=hello  there speaker=", "audio=8000 text=you speaker=bob"});
  set_warning_sink(nullptr);
  CHECK(
      warnings ==
      Texts{concat((place.path() / "k/train").string(),
                   ": 1 utterance has no line in text, for example u3, and is left out"),
            concat((place.path() / "k/train").string(),
                   ": 1 of 2 utterances have no line in utt2spk, for example u1, and an empty text as their speaker")});
  refused("segments", "u1 rec1 0.1\n", "segments:1: '' is no time in seconds");
  refused("segments", "u1 rec1 0.3 0.2\n", "segments:1: the segment ends before it begins");
  refused("segments", "u1 rec1 0.1 0.2 1\n", "segments:1: '1' is a channel, which is not chosen here");
  refused("segments", "u1 rec9 0.1 0.2\n", "segments:1: wav.scp has no recording 'rec9'");
  refused("segments", "u1 rec1 -0.5 0.2\n", "segments:1: '-0.5' is no time in seconds");
  refused("wav.scp", "rec1\n", "wav.scp:1: there is no path behind the name rec1");
  refused("wav.scp", "rec1 flac -dc x.flac |\n", "wav.scp:1: flac -dc x.flac | is a command");
  refused("wav.scp", "rec1 a.ark:17\n", "is a place within an archive");
  refused("wav.scp", "rec1 a.wav[0:10]\n", "wav.scp:1: a.wav[0:10] has a range behind it");
  refused("wav.scp", "rec1 -\n", "wav.scp:1: - is the standard input");
  refused("wav.scp", "rec1 a.wav\nrec1 b.wav\n", "wav.scp:2: there is a second line for rec1");
}

TEST_CASE("manifest: recordings, whole and in segments") {
  const Place place;
  place.write("a.wav", wav_of(tone(16000)));
  const auto rows = [&](const std::string& name, const std::string& text, const Values& values = {}) {
    return all_shown(*open(manifest_entry(), place.write(name, text), values));
  };
  CHECK(rows("a.csv", "audio,text\na.wav,one\n") == Texts{"audio=16000 text=one"});
  CHECK(rows("b.csv", "audio,begin,end,text\na.wav,0.25,0.5,x\na.wav,,,y\n") ==
        Texts{"audio=4000 text=x", "audio=16000 text=y"});
  CHECK(rows("b.csv", "audio,begin,end,text\na.wav,0.25,0.5,x\n", {{"begin", ""}, {"end", ""}}).front() ==
        "audio=16000 begin= end= text=x");
  CHECK(rows("c.jsonl", R"({"audio_filepath": "a.wav", "offset": 0.5, "duration": 0.1, "text": "z"})").front() ==
        "audio_filepath=1600 duration= text=z");
  check_failure(failure_of([&] { rows("d.csv", "audio,begin,end\na.wav,0.5,x\n"); }), ExitCode::data,
                "d.csv:2: column 'end': 'x' is no time in seconds");
  check_failure(failure_of([&] { rows("d.csv", "audio,begin,end\na.wav,0.5,0.5\n"); }), ExitCode::data,
                "the segment ends before it begins");
  const auto late = open(manifest_entry(), place.write("e.csv", "audio,begin,end\na.wav,0.5,2\n"));
  ReadBuffer buffer;
  const std::string what = failure_of<SampleError>([&] { late->read(0, buffer); }).what();
  CHECK(what.find("a.wav: the segment from 0.5 to 2 seconds ends behind the recording, which has 1 seconds") !=
        what.npos);
  for (const std::string key : {"begin", "end"})
    check_failure(failure_of([&] {
                    rows("f.csv", "text,t\nx,0.5\n", {{key, "t"}});
                  }),
                  ExitCode::usage, "has 0 columns of recordings, but segments need one");
  check_failure(failure_of([&] { rows("g.csv", "audio,path,begin,end\na.wav,a.wav,0.1,0.2\n"); }), ExitCode::data,
                "has columns of segments, 'begin' and 'end', but 2 columns of recordings, and segments need one");
  place.write("b.aiff", "another format");
  const auto mixed = open(manifest_entry(), place.write("h.csv", "audio,begin,end\na.wav,0.25,0.5\nb.aiff,0.25,0.5\n"));
  CHECK(shown(*mixed, 0) == "audio=4000");
  failure_of<SampleError>([&] { mixed->read(1, buffer); });
}

TEST_CASE("manifest: segments of one recording are all for training or all for validation") {
  const Place place;
  std::string table = "audio,begin,end,text\n";
  for (int row = 0; row < 40; ++row) {
    const auto name = std::to_string(row % 10) + ".wav";
    if (row < 10) place.write(name, wav_of(tone(16000)));
    const int segment = row / 10;
    table += name + "," + std::to_string(segment * 0.2) + "," + std::to_string(segment * 0.2 + 0.1) + ",a\n";
  }
  for (const Texts& used : {Texts{"*"}, Texts{"text"}}) {
    const auto& entry = manifest_entry();
    const auto set = entry.make(settings_for(entry.keys, {{"path", place.write("s.csv", table)}}),
                                {.training = true, .parts = used});
    CHECK(name_of(*set, 13) == "3.wav");
    const auto split = hold_out(*set, 0.2, {});
    CHECK(split.validation.size() == 8);
    for (const auto id : split.validation) CHECK(std::ranges::count(split.validation, (id + 10) % 40) == 1);
  }
}

TEST_CASE("recordings that are written in two ways, or have two names, are those of one file") {
  const Place place;
  const auto path = place.write("s.csv", concat("audio,text\nr0.wav,a\n./r0.wav,b\nx/../r1.wav,c\n",
                                                (place.path() / "r1.wav").string(), ",d\nr2.wav,e\n"));
  for (int i = 0; i < 3; ++i) place.write(concat("r", i, ".wav"), wav_of(tone(50)));
  const auto set = open(manifest_entry(), path);
  const Texts names{"r0.wav", "r0.wav", "x/../r1.wav", "x/../r1.wav", "r2.wav"};
  for (std::uint64_t id = 0; id < names.size(); ++id) CHECK(name_of(*set, id) == names[id]);
  place.write("k/wav.scp", concat("a r.wav\nb ", (place.path() / "k/./r.wav").string(), "\nc other.wav\n"));
  place.write("k/r.wav", wav_of(tone(50)));
  place.write("k/other.wav", wav_of(tone(50)));
  const auto kaldi = open(kaldi_entry(), place.path() / "k");
  CHECK(name_of(*kaldi, 0) == "a");
  CHECK(name_of(*kaldi, 1) == "a");
  CHECK(name_of(*kaldi, 2) == "c");
}

TEST_CASE("webdataset: recordings of all kinds are the part audio") {
  const Place place;
  TarBytes tar;
  tar.entry("a.wav", wav_of(tone(10))).entry("a.txt", "one").entry("b.WAV", wav_of(tone(20))).entry("b.txt", "two");
  const auto path = place.write("s.tar", tar.end());
  for (int start = 0; start < 2; ++start)
    CHECK(all_shown(*open(webdataset_entry(), path, {{"parts", Texts{"*"}}})) ==
          Texts{"audio=10 txt=one", "audio=20 txt=two"});
}

TEST_CASE("recordings: a damaged one is named, by its outline as by its reading") {
  const Place place;
  auto wav = wav_of(tone(100));
  wav.resize(100);
  place.write("set/x/bad.wav", wav);
  place.write("set/y/good.wav", wav_of(tone(10)));
  const auto set = open(audio_folder_entry(), place.path() / "set");
  ReadBuffer buffer;
  Record record;
  const std::string what = failure_of<SampleError>([&] { set->outline(0, record, buffer); }).what();
  CHECK(what.find("set/x/bad.wav: the header promises 100 frames, but the file holds 28") != what.npos);
  CHECK(shown(*set, 1) == "audio=10");
}

TEST_CASE("recordings: lengths that are kept are those of the files as they are") {
  const Place place;
  for (const char* name : {"x/a.wav", "x/b.wav"}) place.write("set/" + std::string(name), wav_of(tone(100)));
  place.write("lists/wav.scp", "a ../set/x/a.wav\nb ../set/x/b.wav\n");
  place.write("table.csv", "audio\nset/x/a.wav\nset/x/b.wav\n");
  for (const std::uint64_t frames : {100, 120, 90}) {
    place.write("set/x/b.wav", wav_of(tone(frames)));
    const auto expected = "audio=" + std::to_string(frames);
    for (int start = 0; start < 2; ++start) {
      CHECK(shown(*open(audio_folder_entry(), place.path() / "set"), 1) == expected);
      CHECK(shown(*open(kaldi_entry(), place.path() / "lists"), 1) == expected);
      CHECK(shown(*open(manifest_entry(), place.path() / "table.csv"), 1) == expected);
    }
  }
}

TEST_CASE("recordings: their lengths are read once, and kept unless files differ") {
  const Place place;
  std::vector<std::uint64_t> frames(100, 7);
  int reads = 0;
  const auto read = [&](std::uint64_t recording) {
    ++reads;
    if (frames[recording] == 0) throw SampleError("damaged");
    if (recording == 6) return SoundForm();  // a row without a recording
    return SoundForm{frames[recording], 2, 44100};
  };
  const auto all = [&] {
    const SoundForms forms(
        100, [] { return std::uint64_t{1}; }, read);
    reads = 0;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
      try {
        const auto form = forms.form(i);
        if (form.frames == 0) continue;
        CHECK(form.channels == 2);
        CHECK(form.rate == 44100);
        sum += form.frames;
      } catch (const SampleError&) {
      }
    }
    return sum;
  };
  frames[50] = 0;
  CHECK(all() == 98 * 7);
  CHECK(reads == 100);
  CHECK(all() == 98 * 7);
  CHECK(reads == 16 + 2);  // checks, the damaged one, and the row without one
  frames[0] = 8;
  CHECK(all() == 98 * 7 + 1);
  CHECK(reads > 100);
}

}  // namespace
}  // namespace flowtrain::audio_test
