// The `audio_folder` data set: recordings in one folder per class, as those of image_folder, or in any folders.

#include <algorithm>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/datasets/audio/utterances.h"
#include "sampling/datasets/class_samples.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/samplers/keys.h"

namespace flowtrain {
namespace {

Utterances read_class_folders(const Settings& settings, bool training) {
  auto samples = find_class_samples(settings, sound_files, training);
  Utterances found{.classes = std::move(samples.classes),
                   .base = std::move(samples.base),
                   .has_split = samples.has_split,
                   .notes = std::move(samples.notes)};
  found.place = samples.files.describe_folder(found.base);
  for (const auto& sample : samples.samples) found.all.push_back({sample.file, sample.label});
  found.files = std::move(samples.files);
  return found;
}

/// Takes all recordings of the folder, or of one that is named after a split.
Utterances read_any_folders(const Settings& settings, bool training) {
  auto files = open_files(settings);
  Utterances found;
  const auto folders = sample_folders(files, sound_files, "");
  const auto place = files.describe_folder("");
  const auto chosen = choose_named(folders, place, "folders", settings, training, found);
  const bool takes_all = !found.has_split && chosen.size() == folders.size();
  if (chosen.size() == 1 && !takes_all) found.base = chosen.front() + '/';
  found.place = files.describe_folder(found.base);
  const auto [first, last] = files.range(found.base);
  for (auto file = first; file < last; ++file) {
    const auto name = files.name(file);
    const auto folder = name.substr(0, name.find('/'));
    const bool is_chosen = takes_all || std::ranges::find(chosen, folder) != chosen.end();
    if (is_sound(name) && is_chosen) found.all.push_back({static_cast<std::uint32_t>(file)});
  }
  found.files = std::move(files);
  return found;
}

}  // namespace

DatasetEntry audio_folder_entry() {
  return {
      .name = "audio_folder",
      .help =
          "recordings (wav, flac, ogg, opus, mp3) in one folder per class, in a folder or a .tar, as the part audio; "
          "labels follow the sorted folder names. split: a sub-folder; default: train, or val (else test) to validate, "
          "by their usual names in any case; if there is no such folder, data.val_share makes a split",
      .keys = {choice_key("labels", "folders",
                          "takes folders for classes, or all recordings at any depth without labels (noise, speech "
                          "without transcripts)",
                          {"folders", "none"}),
               split_names_key()},
      .make = [](const Settings& settings, const DatasetInput& input) {
        const bool has_labels = settings.text("labels") == "folders";
        return make_utterances(
            has_labels ? read_class_folders(settings, input.training) : read_any_folders(settings, input.training),
            input);
      }};
}

}  // namespace flowtrain
