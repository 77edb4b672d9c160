#include "sampling/datasets/audio/utterances.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/sound_forms.h"
#include "sampling/datasets/split_names.h"
#include "sampling/fingerprint.h"
#include "sampling/io/text_lines.h"
#include "sampling/named_dataset.h"
#include "sampling/parts/part_collector.h"

namespace flowtrain {
namespace {

class UtteranceDataset final : public NamedDataset {
 private:
  /// Returns body(source, offset, size_bytes) with the place of a recording's bytes.
  template <class Body>
  auto use(std::uint32_t recording, Body&& body) const {
    if (found_.files) return found_.files->use(recording, body);
    try {
      const auto file = Descriptor::file(found_.paths[recording].data());
      return body(file, std::uint64_t{0}, file.size_bytes());
    } catch (const UserError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw SampleError(concat(path_of(recording), ": ", error.what()));
    }
  }

 public:
  UtteranceDataset(Utterances found, const std::vector<std::string>& used)
      : found_(std::move(found)),
        recordings_(sorted_recordings()),
        forms_(
            recordings_.size(), [this] { return version(); },
            [this](std::uint64_t index) {
              return use(recordings_[index],
                         [](const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes) {
                           return sound_form(file, offset, size_bytes);
                         });
            }) {
    const bool has_texts = found_.texts.size() > 0, has_speakers = found_.speakers.size() > 0;
    // The error for a part that is not there lists all.
    reads_audio_ = std::ranges::any_of(used, [&](const auto& name) {
      return !(has_texts && name == text_.name) && !(has_speakers && name == speaker_.name);
    });
    if (reads_audio_) parts_.push_back(audio_);
    if (has_texts) parts_.push_back(text_);
    if (has_speakers) parts_.push_back(speaker_);
  }

  std::uint64_t size() const override { return found_.all.size(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto& utterance = found_.all[id];
    PartCollector parts(buffer);
    if (reads_audio_)
      use(utterance.recording, [&](const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes) {
        utterance.is_segment() ? parts.read_segment(audio_, file, offset, size_bytes, utterance.begin, utterance.end)
                               : parts.read(audio_, file, offset, size_bytes);
      });
    each_text(id,
              [&](const PartForm& form, std::string_view text) { parts.add(form, std::as_bytes(std::span(text))); });
    return finished(id, parts);
  }

  std::vector<PartForm> parts() const override { return parts_; }

  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    PartCollector parts(buffer);
    if (reads_audio_) parts.outline_audio(audio_, form(id));
    each_text(id, [&](const PartForm& form, std::string_view text) { parts.outline_text(form, text.size()); });
    record = finished(id, parts);
    return true;
  }

  std::int64_t label(std::uint64_t id) const override { return found_.all[id].label; }
  std::vector<std::string> classes() const override {
    auto shown = found_.classes;
    for (auto& name : shown) name = as_utf8(name);
    return shown;
  }
  std::string missing_labels() const override {
    if (!found_.classes.empty()) return {};
    return concat(found_.place, ": no folders of classes were read (audio_folder does, with labels = \"folders\")");
  }
  std::string describe(std::uint64_t id) const override {
    const auto& utterance = found_.all[id];
    auto path = path_of(utterance.recording);
    if (!utterance.is_segment()) return path;
    return concat(path, " from ", utterance.begin, " s", utterance.end < 0 ? "" : concat(" to ", utterance.end, " s"));
  }
  /// Returns the name of the first recording with this file, which all segments of it share.
  std::string name(std::uint64_t id) const override {
    auto recording = found_.all[id].recording;
    if (!found_.firsts.empty()) recording = found_.firsts[recording];
    return as_utf8(found_.files ? found_.files->name(recording).substr(found_.base.size()) : found_.names[recording]);
  }
  bool has_split() const override { return found_.has_split; }
  std::string place() const override { return found_.place; }
  std::vector<std::string> notes() const override { return found_.notes; }
  bool resident() const override { return !reads_audio_; }
  std::uint64_t fingerprint() const override {
    std::uint64_t all = found_.hash;
    for (std::uint64_t id = 0; id < size(); ++id) {
      const auto& utterance = found_.all[id];
      const std::array numbers{utterance.begin, utterance.end, static_cast<double>(utterance.label)};
      all = fingerprint_of(found_.files ? found_.files->name(utterance.recording) : found_.names[utterance.recording],
                           all);
      all = fingerprint_of(std::as_bytes(std::span(numbers)), all);
      each_text(id, [&](const PartForm&, std::string_view text) { all = fingerprint_of(text, all); });
    }
    return all;
  }
  std::uint64_t version() const override {
    auto all = fingerprint();
    for (const auto recording : recordings_)
      all = found_.files ? found_.files->version(recording, all)
                         : fingerprint_of_file(found_.paths[recording].data(), all);
    return all;
  }

 private:
  std::string path_of(std::uint32_t recording) const {
    return found_.files ? found_.files->describe(recording) : as_utf8(found_.paths[recording]);
  }

  std::vector<std::uint32_t> sorted_recordings() const {
    std::vector<std::uint32_t> all;
    for (const auto& utterance : found_.all) all.push_back(utterance.recording);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  SoundForm form(std::uint64_t id) const {
    const auto& utterance = found_.all[id];
    const auto index = std::ranges::lower_bound(recordings_, utterance.recording) - recordings_.begin();
    auto form = forms_.form(static_cast<std::uint64_t>(index));
    if (!utterance.is_segment()) return form;
    try {
      form.frames = frames_between(form, utterance.begin, utterance.end).frames;
    } catch (const SampleError& error) {
      throw SampleError(concat(describe(id), ": ", error.what()));
    }
    return form;
  }

  template <class Take>
  void each_text(std::uint64_t id, Take&& take) const {
    if (found_.texts.size() > 0) take(text_, found_.texts[id]);
    if (found_.speakers.size() > 0) take(speaker_, found_.speakers[id]);
  }

  Record finished(std::uint64_t id, PartCollector& parts) const {
    Record record{.id = id, .label = found_.all[id].label};
    parts.finish(record);
    return record;
  }

  const Utterances found_;
  const PartForm audio_{audio_part, Encoding::audio}, text_{"text", Encoding::text},
      speaker_{"speaker", Encoding::text};
  std::vector<PartForm> parts_;
  bool reads_audio_ = true;
  const std::vector<std::uint32_t> recordings_;  ///< recordings of the utterances, sorted: forms_ has one for each
  const SoundForms forms_;
};

}  // namespace

std::unique_ptr<Dataset> make_utterances(Utterances found, const DatasetInput& input) {
  if (found.all.empty())
    throw EmptyDataset(concat(found.place, ": there is no recording (", sound_endings, ") that counts"),
                       "look for the layout of this data set in docs/speech.md");
  return std::make_unique<UtteranceDataset>(std::move(found), input.parts);
}

void each_entry(std::string_view text, const std::string& path,
                const std::function<void(std::string_view, std::string_view, const std::string&)>& body) {
  std::set<std::string_view> keys;
  std::uint64_t number = 0;
  for (const auto line : text_lines(text, path)) {
    const auto place = concat(path, ":", ++number);
    const auto entry = trimmed(line);
    if (entry.empty()) continue;
    if (first_not_utf8(entry)) throw UserError(ExitCode::data, place + ": the line is not UTF-8", "convert the list");
    const auto end = std::min(entry.find_first_of(" \t"), entry.size());
    if (!keys.insert(entry.substr(0, end)).second)
      throw UserError(ExitCode::data, concat(place, ": there is a second line for ", entry.substr(0, end)),
                      "remove one of them");
    body(entry.substr(0, end), trimmed(entry.substr(end)), place);
  }
}

void LeftOut::tell(const std::string& place, const std::string& kind, const std::string& lack) const {
  if (count_ == 0) return;
  const bool one = count_ == 1;
  warn(concat(place, ": ", count_, " ", kind, one ? " has no " : "s have no ", lack, ", for example ", first_, ", and ",
              one ? "is" : "are", " left out"));
}

std::vector<std::string> choose_named(const std::vector<std::string>& names, const std::string& place, const char* what,
                                      const Settings& settings, bool training, Utterances& found) {
  const auto& split = settings.text("split");
  if (split.empty()) {
    auto choice = choose_split(names, place, what, settings, training);
    if (!choice) return names;
    found.has_split = choice->has_split;
    found.notes = std::move(choice->notes);
    return choice->names;
  }
  found.has_split = true;
  for (const bool any_case : {false, true})
    for (const auto& name : names)
      if (any_case ? lower_case(name) == lower_case(split) : name == split) return {name};
  throw settings.error(
      "split",
      concat("there is no '", split, "' in ", place, names.empty() ? "" : "; there are " + listed_classes(names)),
      ExitCode::data);
}

}  // namespace flowtrain
