#include "pipeline/inference/evaluation/part_files.h"

#include <cmath>
#include <fstream>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/pictures/picture_files.h"
#include "pipeline/inference/evaluation/confusion_picture.h"
#include "pipeline/inference/evaluation/test_sets.h"
#include "pipeline/inference/evaluation/worst_samples.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/utf8.h"
#include "stages/evaluation/results_file.h"

namespace flowtrain {

namespace {

constexpr const char* summary_name = "summary.json";

ordered_json class_json(const std::vector<std::string>& classes, std::int64_t label) {
  const auto index = static_cast<std::size_t>(label);
  return label >= 0 && index < classes.size() ? ordered_json(classes[index]) : ordered_json(label);
}

std::string lines_of_samples(const Measurement& measured, const Dataset& dataset) {
  const auto classes = dataset.classes();
  std::string text;
  for (std::size_t i = 0; i < measured.samples.size(); ++i) {
    const SampleOutcome& sample = measured.samples[i];
    JsonObject line{{"id", sample.id}, {"name", dataset.describe(sample.id)}};
    if (sample.label >= 0) line["label"] = class_json(classes, sample.label);
    if (sample.prediction >= 0) {
      line["prediction"] = class_json(classes, sample.prediction);
      line["score"] = sample.score;
    }
    const bool has_loss = measured.kind == "classify" || measured.kind == "segment" ||
                          (measured.kind == "tokens" && !std::isnan(sample.loss));
    if (has_loss) line["loss"] = sample.loss;
    if (has_loss && measured.kind != "classify")
      line[measured.kind == "segment" ? "pixels" : "tokens"] = sample.counted, line["right"] = sample.right;
    if (!measured.transcripts.empty() && measured.transcripts[i]) {
      const auto& [reference, hypothesis, words, characters] = *measured.transcripts[i];
      line["reference"] = as_utf8(reference), line["hypothesis"] = as_utf8(hypothesis);
      line["edits"] = words.edits, line["words"] = words.length;
      line["character_edits"] = characters.edits, line["characters"] = characters.length;
    }
    if (sample.substitute) line["substitute"] = true;
    text += json_line(std::move(line)) + "\n";
  }
  return text;
}

template <class Item>
JsonObject box_json(const Item& item, const std::map<std::int64_t, std::string>& categories) {
  return {{"label", categories.at(item.category_id)}, {"bbox", {item.x, item.y, item.width, item.height}}};
}

std::string lines_of_pictures(const DetectionOutcome& objects, const Dataset& dataset) {
  std::map<std::int64_t, std::string> categories;
  for (auto& category : objects.truth.categories) categories[category.id] = category.name;
  const auto pictures = by_picture(objects.truth, objects.found);
  std::string text;
  for (std::size_t i = 0; i < objects.image_results.size(); ++i) {
    const std::uint64_t id = objects.image_results[i].record;
    const auto image = objects.truth.images[i];
    const auto found = pictures.find(image);
    const auto text_id = objects.truth.text_ids.find(image);
    const PictureObjects picture = found == pictures.end() ? PictureObjects() : found->second;
    const DetectionErrors errors = errors_in(picture);
    ordered_json truth = ordered_json::array(), finds = ordered_json::array();
    for (const auto* object : picture.truth) {
      JsonObject box = box_json(*object, categories);
      box["area"] = object->area, box["ignore"] = object->ignore;
      truth.push_back(std::move(box));
    }
    for (const auto* find : picture.found) {
      JsonObject box = box_json(*find, categories);
      box["score"] = find->score;
      finds.push_back(std::move(box));
    }
    text += json_line({{"id", id},
                       {"name", dataset.describe(id)},
                       {"image_id",
                        text_id == objects.truth.text_ids.end() ? ordered_json(image) : ordered_json(text_id->second)},
                       {"false_negatives", errors.false_negatives},
                       {"false_positives", errors.false_positives},
                       {"truth", std::move(truth)},
                       {"found", std::move(finds)}}) +
            "\n";
  }
  return text;
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ordered_json metrics_json(const Scalars& scalars) {
  ordered_json metrics = ordered_json::object();
  for (auto& [name, value] : scalars) metrics[name] = std::isfinite(value) ? ordered_json(value) : ordered_json();
  return metrics;
}

void write_part(const TestPart& part, const Measurement& measured, const ValidationData& set, std::size_t pictures,
                const ordered_json& inputs) {
  const Dataset& dataset = *set.data.dataset;
  make_folders(part.folder.parent_path());
  AtomicFolder folder(part.folder);
  folder.write_file("samples.jsonl", measured.objects ? lines_of_pictures(*measured.objects, dataset)
                                                      : lines_of_samples(measured, dataset));
  if (measured.objects)
    folder.write_file("results.json", results_text(measured.objects->found, measured.objects->truth.text_ids));
  if (measured.confusion) {
    folder.write_file("confusion.csv", to_csv(*measured.confusion));
    constexpr std::size_t most_shown = 4096;  // each would have less than a pixel on a screen
    if (measured.confusion->classes.size() <= most_shown)
      folder.write_file("confusion.png", text_of(encode_png(confusion_picture(*measured.confusion).view())));
  }
  const ShownSamples shown = samples_to_show(measured, set.data, worst_rules(set.config), pictures, part.set);
  for (auto& [name, bytes] : picture_files(shown, part.iteration)) folder.write_file(name, text_of(bytes));
  folder.write_file(summary_name, json_text(ordered_json(JsonObject{{"snapshot", part.snapshot.filename().string()},
                                                                    {"iter", part.iteration},
                                                                    {"set", shown_set(part.set)},
                                                                    {"setting", part.setting},
                                                                    {"kind", measured.kind},
                                                                    {"samples", measured.size},
                                                                    {"metrics", metrics_json(measured.scalars)},
                                                                    {"inputs", inputs}}),
                                            1) +
                                      "\n");
  folder.commit();
}

std::optional<PartOutcome> read_part(const TestPart& part, const ordered_json& inputs) {
  const ordered_json summary = json_of_file(part.folder / summary_name, most_summary_bytes);
  if (!summary.is_object() || summary.value("inputs", ordered_json()) != inputs) return std::nullopt;
  PartOutcome outcome{.part = part, .samples = summary.at("samples")};
  for (auto& [name, value] : summary.at("metrics").items())
    outcome.scalars.emplace_back(name, value.is_null() ? std::nan("") : value.get<double>());
  return outcome;
}

}  // namespace flowtrain
