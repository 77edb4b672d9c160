// The `librispeech` data set: the layout of LibriSpeech (V. Panayotov et al., "Librispeech: an ASR corpus based on
// public domain audio books", 2015): SPLIT/SPEAKER/CHAPTER/SPEAKER-CHAPTER.trans.txt beside the recordings that its
// lines name.

#include <algorithm>
#include <map>
#include <set>

#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/audio/utterances.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/whole_file.h"

namespace flowtrain {
namespace {

constexpr std::string_view transcripts_ending = ".trans.txt";

/// Returns the folder without its last `levels` parts: empty, or ending in a slash.
std::string_view outer_folder(std::string_view name, int levels) {
  for (int i = 0; i < levels && !name.empty(); ++i) {
    name.remove_suffix(name.ends_with('/') ? 1 : 0);
    name = name.substr(0, name.rfind('/') + 1);
  }
  return name;
}

/// Returns a split's usual word for a name such as train-clean-100, whose other words do not count here.
std::string word_of(const std::string& folder) {
  const auto name = split_name(folder);
  if (!name) return folder;
  return name->split == Split::training ? "train" : name->split == Split::validation ? "val" : "test";
}

/// Finds the recording of a line beside its transcripts.
std::optional<std::size_t> recording_of(const Files& files, const std::string& stem) {
  for (const char* ending : {".flac", ".wav", ".ogg", ".opus", ".mp3"})
    if (const auto file = files.find(stem + ending)) return file;
  return {};
}

Utterances read_librispeech(const Settings& settings, bool training) {
  auto files = open_files(settings);
  Utterances found{.place = files.describe_folder("")};
  std::map<std::string, std::vector<std::size_t>> lists;  // by the folder above those of the speakers
  for (std::size_t file = 0; file < files.size(); ++file)
    if (files.name(file).ends_with(transcripts_ending))
      lists[std::string(outer_folder(files.name(file), 3))].push_back(file);
  std::vector<std::string> names, words;
  for (const auto& [folder, own] : lists) {
    const auto slash = folder.size() < 2 ? std::string::npos : folder.rfind('/', folder.size() - 2);
    names.push_back(folder.empty() ? "" : folder.substr(slash + 1, folder.size() - slash - 2));
    words.push_back(settings.text("split").empty() ? word_of(names.back()) : names.back());
  }
  auto unique = words;
  std::ranges::sort(unique);
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  const auto chosen = choose_named(unique, found.place, "folders", settings, training, found);
  LeftOut lacking, untold;
  std::set<std::size_t> taken;
  std::set<std::string, std::less<>> folders;  // with a list
  auto word = words.begin();
  for (const auto& [folder, own] : lists) {
    if (std::ranges::find(chosen, *word++) == chosen.end()) continue;
    for (const auto list : own) {
      const auto bytes = read_needed(files, list);
      const std::string beside(outer_folder(files.name(list), 1));
      folders.insert(beside);
      each_entry({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, files.describe(list),
                 [&](std::string_view key, std::string_view text, const std::string& place) {
                   const auto recording = recording_of(files, concat(beside, key));
                   if (!recording) return lacking.add(place);
                   taken.insert(*recording);
                   found.all.push_back({static_cast<std::uint32_t>(*recording)});
                   found.texts.add(text);
                   found.speakers.add(key.substr(0, key.find('-')));
                 });
    }
  }
  lacking.tell(found.place, "transcript", "recording");
  for (std::size_t file = 0; file < files.size(); ++file) {
    const std::string_view name = files.name(file);
    if (is_sound(name) && !taken.contains(file) && folders.contains(name.substr(0, name.rfind('/') + 1)))
      untold.add(files.describe(file));
  }
  untold.tell(found.place, "recording", "transcript beside it");
  found.files = std::move(files);
  return found;
}

}  // namespace

DatasetEntry librispeech_entry() {
  return {.name = "librispeech",
          .help =
              "the layout of LibriSpeech, a folder or a .tar: SPLIT/SPEAKER/CHAPTER/*.trans.txt beside the recordings "
              "(flac, wav, ogg, opus, mp3), as the parts audio, text and speaker. split: a folder such as "
              "train-clean-100; default: all whose names begin with train, or with dev (else test) to validate",
          .keys = {split_names_key()},
          .make = [](const Settings& settings, const DatasetInput& input) {
            return make_utterances(read_librispeech(settings, input.training), input);
          }};
}

}  // namespace flowtrain
