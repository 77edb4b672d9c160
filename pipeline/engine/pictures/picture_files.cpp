#include "pipeline/engine/pictures/picture_files.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "stages/detection/draw.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_found = 50;
constexpr float least_drawn = 0.3F;

// Six digits behind the point are enough, and keep the file small.
double short_number(double value) { return std::round(value * 1e6) / 1e6 + 0.0; }  // no -0

std::string to_text(const ordered_json& value) { return json_text(value); }

// The lines are for people, too.
std::string line_by_line(const ordered_json& entries) {
  return entries.empty() ? "[]" : concat("[\n  ", join(entries, ",\n  ", to_text), "]");
}

class SetFiles {
 public:
  explicit SetFiles(const ShownSamples& shown) : shown_(shown) {}

  std::vector<NamedBytes> make(std::uint64_t iteration) {
    std::string text = concat("{\"iter\": ", iteration, ", \"set\": ", to_text(shown_.set.empty() ? "val" : shown_.set),
                              ", \"kind\": ", to_text(shown_.kind));
    const auto add_list = [&](const std::string& name, const std::vector<SampleResult>& list) {
      ordered_json entries = ordered_json::array();
      for (auto& sample : list) entries.push_back(add(sample, name == "samples" ? "" : name + "-", entries.size()));
      text += concat(",\n", to_text(name), ": ", line_by_line(entries));
    };
    add_list("samples", shown_.samples);
    add_list("worst", shown_.worst);
    for (auto& [name, list] : shown_.worst_by) add_list("worst-" + name, list);
    text += "}\n";
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    files_.emplace_back("pictures.json", std::vector<std::byte>(bytes, bytes + text.size()));
    return std::move(files_);
  }

 private:
  ordered_json add(const SampleResult& sample, const std::string& start, std::size_t number) {
    const RowResult& result = sample.result;
    const std::string name = start + printed("%02zu", number);
    ordered_json entry;
    add_picture(sample.picture, name, "file", entry);
    entry["id"] = sample.id;
    if (sample.label >= 0) entry["label"] = class_name(sample.label);
    if (result.prediction >= 0) {
      entry["prediction"] = class_name(result.prediction);
      entry["score"] = short_number(result.score);
    }
    if (!std::isnan(result.loss)) entry["loss"] = short_number(result.loss);
    add_picture(result.made, name + "-prediction", "prediction_file", entry);
    add_picture(result.wanted, name + "-label", "label_file", entry);
    if (result.transcript) add_transcript(*result.transcript, entry);
    add_fields(sample, name, entry);
    if (shown_.kind == "detect") add_boxes(sample, name, entry);
    return entry;
  }

  void add_picture(const Image& image, const std::string& name, const char* key, ordered_json& entry) {
    if (image.pixels.empty()) return;
    entry[key] = name + ".png";
    files_.emplace_back(name + ".png", encode_png(image.view()));
  }

  static void add_transcript(const Transcript& transcript, ordered_json& entry) {
    const auto& [reference, hypothesis, words, characters] = transcript;
    entry["reference"] = as_utf8(reference), entry["hypothesis"] = as_utf8(hypothesis);
    entry["alignment"] = as_utf8(marked_edits(reference, hypothesis));
    entry["edits"] = words.edits, entry["words"] = words.length;
  }

  void add_fields(const SampleResult& sample, const std::string& name, ordered_json& entry) {
    for (auto& [field, shown] : sample.fields) {
      std::string file = concat(name, ".", field);
      std::ranges::replace(file, '/', '_');
      ordered_json one{{"name", shown_text(field)}};
      if (!shown.text.empty()) one["text"] = shown.text;
      add_picture(shown.picture, file, "file", one);
      if (!shown.sound.empty()) {
        one["sound_file"] = file + ".wav";
        files_.emplace_back(file + ".wav", shown.sound);
      }
      entry["fields"].push_back(std::move(one));
    }
  }

  // The plain picture stays: the report draws boxes over it, as many as its reader wants.
  void add_boxes(const SampleResult& sample, const std::string& name, ordered_json& entry) {
    Image drawn = sample.picture;
    draw_boxes(drawn.pixels.data(), drawn.height, drawn.width, sample.boxes, sample.found, least_drawn);
    add_picture(drawn, name + "-boxes", "boxes_file", entry);
    ordered_json boxes = ordered_json::array();
    for (auto& box : sample.boxes) boxes.push_back(box_entry(box, box.label, 1, true));
    auto found = sample.found;
    std::ranges::stable_sort(found, std::greater(), &Detection::score);
    for (std::size_t i = 0; i < std::min(found.size(), most_found); ++i)
      boxes.push_back(box_entry(found[i], found[i].category, found[i].score, false));
    entry["boxes"] = std::move(boxes);
  }

  template <class Corners>
  ordered_json box_entry(const Corners& box, std::int64_t label, double score, bool truth) const {
    return {{"x1", short_number(box.x0)},
            {"y1", short_number(box.y0)},
            {"x2", short_number(box.x1)},
            {"y2", short_number(box.y1)},
            {"label", class_name(label)},
            {"score", short_number(score)},
            {"truth", truth}};
  }

  ordered_json class_name(std::int64_t label) const {
    const auto index = static_cast<std::size_t>(label);
    return label >= 0 && index < shown_.classes.size() ? ordered_json(shown_.classes[index]) : ordered_json(label);
  }

  const ShownSamples& shown_;
  std::vector<NamedBytes> files_;
};

}  // namespace

std::vector<NamedBytes> picture_files(const ShownSamples& shown, std::uint64_t iteration) {
  return SetFiles(shown).make(iteration);
}

}  // namespace flowtrain
