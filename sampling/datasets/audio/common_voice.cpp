// The `common_voice` data set: the layout of Mozilla's Common Voice (R. Ardila et al., "Common Voice: A
// Massively-Multilingual Speech Corpus", 2020): lists train.tsv, dev.tsv, test.tsv, validated.tsv … beside clips/.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/audio/utterances.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/io/files.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

/// Splits a line at its tabs. The lists have no quotes: those in a sentence are characters of it.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == line.npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

void add_clips(const fs::path& list, Utterances& found) {
  const auto lines = read_text_lines(list);
  const auto columns = lines.empty() ? std::vector<std::string_view>() : cells_of(lines.front());
  const auto column = [&](std::string_view name) {
    const auto at = std::ranges::find(columns, name);
    if (at == columns.end())
      throw UserError(ExitCode::data, concat(list.string(), ":1: there is no column '", name, "'"),
                      "name a folder of Common Voice; the data set manifest reads other tables");
    return static_cast<std::size_t>(at - columns.begin());
  };
  const auto path = column("path"), sentence = column("sentence"), client = column("client_id");
  std::set<std::string, std::less<>> clips;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cells = cells_of(lines[i]);
    if (trimmed(lines[i]).empty()) continue;
    const auto fail = [&](const std::string& what) {
      throw UserError(ExitCode::data, concat(list.string(), ":", i + 1, ": ", what), "fetch the list again");
    };
    if (cells.size() != columns.size())
      fail(concat("there are ", cells.size(), " cells, but ", columns.size(), " columns"));
    if (first_not_utf8(lines[i])) fail("the line is not UTF-8");
    std::string clip(cells[path]);
    if (clip.empty() || clip.find('/') != clip.npos) fail(concat("'", clip, "' is no name of a clip"));
    if (ending_of(clip).empty()) clip += ".mp3";  // the first releases leave it out
    if (!clips.insert(clip).second) fail("there is a second line for " + clip);
    found.all.push_back({static_cast<std::uint32_t>(found.paths.size())});
    found.paths.add((list.parent_path() / "clips" / clip).string());
    found.names.add(clip);
    found.texts.add(trimmed(cells[sentence]));
    found.speakers.add(cells[client]);
  }
}

/// Returns the names of the lists of a folder, without those that tell which samples data.val_share holds out.
std::vector<std::string> lists_in(const fs::path& folder) {
  std::vector<std::string> lists;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    if (const auto& name = it->path(); name.extension() == ".tsv" && !is_held_out_list(name.filename().native()))
      lists.push_back(name.stem().string());
  std::ranges::sort(lists);
  return lists;
}

Utterances read_common_voice(const Settings& settings, bool training) {
  refuse_address(settings);
  const fs::path folder(settings.text("path"));
  const auto lists = lists_in(folder);
  const auto splits = find_splits(lists);
  // If there is no list to validate on, both sides read that of training, which data.val_share divides.
  const bool has_split = !settings.text("split").empty() || !splits.validation.empty() || !splits.test.empty();
  const bool reads_training = training || !has_split;
  const auto usual = reads_training ? "train" : "dev";
  const auto chosen = choose_list(lists, settings.text("split"), usual, reads_training);
  if (!chosen)
    throw settings.error(
        settings.text("split").empty() ? "path" : "split",
        concat("there is no list ", settings.text("split").empty() ? usual : as_utf8(settings.text("split")),
               ".tsv in ", folder.string(), lists.empty() ? "" : "; there are " + listed_classes(lists)),
        ExitCode::data, "name the folder of a language, with train.tsv and clips/");
  Utterances found{.has_split = has_split, .place = (folder / (*chosen + ".tsv")).string()};
  if (training && settings.text("split").empty()) found.notes = notes_on_lists(lists, nullptr);
  add_clips(found.place, found);
  return found;
}

}  // namespace

DatasetEntry common_voice_entry() {
  return {
      .name = "common_voice",
      .help =
          "the layout of Mozilla's Common Voice: lists such as train.tsv beside clips/, as the parts audio, text (the "
          "sentence) and speaker (the client_id). path: the folder of a language; split: the name of a list; default: "
          "train, or dev to validate; if there is no list for that, data.val_share makes a split",
      .make = [](const Settings& settings, const DatasetInput& input) {
        return make_utterances(read_common_voice(settings, input.training), input);
      }};
}

}  // namespace flowtrain
