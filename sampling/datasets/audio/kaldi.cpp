// The `kaldi` data set: Kaldi's data folders (kaldi-asr.org/doc/data_prep.html): wav.scp, and if they are there
// segments, text and utt2spk.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/audio/utterances.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/same_files.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/whole_file.h"
#include "sampling/fingerprint.h"
#include "sampling/io/files.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

using Entries = std::map<std::string, std::string, std::less<>>;
/// Calls body(key, rest, place) for the lines of a list of the folder.
using EachLine = std::function<void(std::string_view, std::string_view, const std::string&)>;

/// Reads a list of the folder; returns false if there is none.
bool read_list(const fs::path& folder, const char* name, const EachLine& body) {
  const auto path = (folder / name).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  std::vector<std::byte> bytes;
  try {
    const auto file = Descriptor::file(path.c_str());
    read_exactly(file, 0, file.size_bytes(), bytes);
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, concat(path, ": ", error.what()));
  }
  each_entry({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, body);
  return true;
}

std::optional<Entries> read_entries(const fs::path& folder, const char* name) {
  Entries entries;
  const bool is_there = read_list(folder, name, [&](std::string_view key, std::string_view rest, const std::string&) {
    entries.emplace(key, rest);
  });
  return is_there ? std::optional(std::move(entries)) : std::nullopt;
}

/// Adds the recordings of wav.scp.
void add_recordings(const fs::path& folder, const fs::path& root, Utterances& found) {
  const bool is_there =
      read_list(folder, "wav.scp", [&](std::string_view key, std::string_view path, const std::string& place) {
        const auto refuse = [&](const char* what, const char* hint) {
          throw UserError(ExitCode::data, concat(place, ": ", path, " ", what), hint);
        };
        if (path.empty())
          throw UserError(ExitCode::data, concat(place, ": there is no path behind the name ", key),
                          "write the path of its file");
        if (path.ends_with('|') || path.starts_with('|'))
          refuse("is a command, which is not run here",
                 "run the commands once, for example with Kaldi's wav-copy, and let wav.scp name the files");
        const char* const own_files = "write the recordings as files of their own";
        if (path == "-") refuse("is the standard input, which is not read here", own_files);
        if (path.ends_with(']') && path.find('[') != path.npos)
          refuse("has a range behind it, which is not read here",
                 "leave it out, and let the file `segments` tell the begin and the end of each utterance");
        if (const auto colon = path.rfind(':'); colon != path.npos && colon + 1 < path.size() &&
                                                path.find_first_not_of("0123456789", colon + 1) == path.npos)
          refuse("is a place within an archive, which is not read here", own_files);
        found.names.add(key);
        found.hash = fingerprint_of(path, found.hash);  // the folder does not matter
        found.paths.add((root / path).string());
      });
  if (!is_there)
    throw UserError(ExitCode::data, concat("there is no wav.scp in ", folder.string()), "name a data folder of Kaldi");
  found.firsts = firsts_of_same_files(found.paths, ".");
}

/// Reads a time. -1 stands for the end of the recording.
double seconds_of(std::string_view text, const std::string& place, bool is_end) {
  const auto seconds = parse_number<double>(text);
  if (!seconds || !((*seconds >= 0 && *seconds < 1e9) || (is_end && *seconds == -1)))
    throw UserError(ExitCode::data, concat(place, ": '", text, "' is no time in seconds"),
                    "write: utterance recording begin end");
  return *seconds;
}

/// Adds the utterances of `segments`, or else the recordings whole, with their texts and speakers.
class UtteranceLists {
 public:
  UtteranceLists(const fs::path& folder, Utterances& found)
      : folder_(folder),
        found_(found),
        texts_(read_entries(folder, "text")),
        speakers_(read_entries(folder, "utt2spk")) {}

  void add_all() {
    std::map<std::string_view, std::uint32_t> recordings;
    for (std::uint32_t i = 0; i < found_.names.size(); ++i) recordings.emplace(found_.names[i], i);
    const bool has_segments =
        read_list(folder_, "segments", [&](std::string_view key, std::string_view rest, const std::string& place) {
          std::string_view cells[3];
          for (auto& cell : cells) {
            const auto end = std::min(rest.find_first_of(" \t"), rest.size());
            cell = rest.substr(0, end);
            rest = trimmed(rest.substr(end));
          }
          const auto recording = recordings.find(cells[0]);
          if (recording == recordings.end())
            throw UserError(ExitCode::data, concat(place, ": wav.scp has no recording '", cells[0], "'"),
                            "write: utterance recording begin end");
          const auto begin = seconds_of(cells[1], place, false), end = seconds_of(cells[2], place, true);
          if (end >= 0 && end <= begin)
            throw UserError(ExitCode::data, concat(place, ": the segment ends before it begins"),
                            "correct the line, or remove it");
          if (!rest.empty())
            throw UserError(ExitCode::data, concat(place, ": '", rest, "' is a channel, which is not chosen here"),
                            "write each channel as a file of its own, for example with sox's remix, and leave it out");
          add(key, {recording->second, -1, begin, end});
        });
    if (!has_segments)
      for (std::uint32_t i = 0; i < found_.names.size(); ++i) add(found_.names[i], {i});
    lacking_.tell(folder_.string(), "utterance", "line in text");
    if (without_speaker_.count() > 0)
      warn(concat(folder_.string(), ": ", without_speaker_.count(), " of ", found_.all.size(),
                  " utterances have no line in utt2spk, for example ", without_speaker_.first(),
                  ", and an empty text as their speaker"));
    if (texts_ && texts_->size() > taken_.size())
      warn(concat(folder_.string(), ": ", texts_->size() - taken_.size(), " of ", texts_->size(),
                  " lines in text have no ", has_segments ? "segment" : "recording in wav.scp", ", for example ",
                  first_without_recording(), ", and are left out"));
  }

 private:
  std::string_view first_without_recording() const {
    for (const auto& entry : *texts_)
      if (!taken_.contains(entry.first)) return entry.first;
    return {};
  }

  void add(std::string_view key, const Utterance& utterance) {
    const auto text = texts_ ? texts_->find(key) : Entries::iterator();
    if (texts_ && text == texts_->end()) {
      lacking_.add(std::string(key));
      return;
    }
    found_.all.push_back(utterance);
    if (texts_) {
      found_.texts.add(text->second);
      taken_.insert(text->first);
    }
    if (!speakers_) return;
    const auto speaker = speakers_->find(key);
    if (speaker == speakers_->end()) without_speaker_.add(std::string(key));
    found_.speakers.add(speaker == speakers_->end() ? std::string_view() : std::string_view(speaker->second));
  }

  const fs::path& folder_;
  Utterances& found_;
  const std::optional<Entries> texts_, speakers_;
  std::set<std::string_view> taken_;  ///< names of texts_ that an utterance has
  LeftOut lacking_, without_speaker_;
};

Utterances read_kaldi(const Settings& settings, bool training) {
  fs::path folder(settings.text("path"));
  Utterances found;
  refuse_address(settings);
  std::error_code ignored;
  if (!fs::exists(folder / "wav.scp", ignored)) {
    std::vector<std::string> names;
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
      if (std::error_code none; fs::exists(it->path() / "wav.scp", none))
        names.push_back(it->path().filename().string());
    std::ranges::sort(names);
    const auto chosen = choose_named(names, folder.string(), "folders", settings, training, found);
    if (chosen.size() != 1)
      throw settings.error(
          "path",
          concat(chosen.empty() ? "there is no wav.scp in " : "several folders have a wav.scp in ", folder.string()),
          ExitCode::data, "name one data folder of Kaldi, or data.split");
    folder /= chosen.front();
  } else if (!settings.text("split").empty()) {
    throw settings.error("split", concat(folder.string(), " is a data folder itself, with a wav.scp"));
  }
  found.place = folder.string();
  const auto& root = settings.text("root");
  add_recordings(folder, root.empty() ? folder : fs::path(root), found);
  UtteranceLists(folder, found).add_all();
  return found;
}

}  // namespace

DatasetEntry kaldi_entry() {
  return {
      .name = "kaldi",
      .help =
          "a data folder of Kaldi: wav.scp (paths, no commands), and if they are there segments, text and utt2spk, as "
          "the parts audio, text and speaker. path: the folder, or one of several; split: the name of one of them; "
          "default: train, or dev (else test) to validate, by their usual names",
      .keys = {{"root", Kind::text, "", "folder that relative paths of wav.scp begin in; default: that of wav.scp"},
               split_names_key()},
      .make = [](const Settings& settings, const DatasetInput& input) {
        return make_utterances(read_kaldi(settings, input.training), input);
      }};
}

}  // namespace flowtrain
