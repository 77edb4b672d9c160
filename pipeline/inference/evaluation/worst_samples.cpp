#include "pipeline/inference/evaluation/worst_samples.h"

#include <algorithm>
#include <cmath>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/inference/evaluation/sample_pictures.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// The index of a sample in Measurement::samples, or of a picture in DetectionOutcome::image_results.
using Index = std::size_t;

struct Ranked {
  double value;
  Index index;
};

Image in_three_channels(Image picture) {
  if (picture.channels == 3 || picture.pixels.empty()) return picture;
  Image coloured;
  in_colour(picture.view(), coloured);
  return coloured;
}

class TestedSamples {
 public:
  TestedSamples(const Measurement& measured, const DataParts& data)
      : measured_(measured), data_(data), dataset_(*data.dataset), packed_(slab_layout(data).is_packed()) {}

  std::size_t size() const { return objects() ? objects()->image_results.size() : measured_.samples.size(); }

  SampleResult sample(Index index) const {
    if (objects()) {
      const ImageResult& result = objects()->image_results[index];
      return {.id = result.record,
              .picture = in_three_channels(stored_picture(dataset_, measured_.decoding, result.record)),
              .boxes = result.boxes,
              .found = result.found};
    }
    const SampleOutcome& outcome = measured_.samples[index];
    RowResult result;
    result.loss = outcome.loss, result.prediction = outcome.prediction, result.score = outcome.score;
    if (!measured_.transcripts.empty()) result.transcript = measured_.transcripts[index];
    SampleResult sample{.id = outcome.id, .label = outcome.label, .result = result};
    add_row(sample);
    if (Image stored = stored_picture(dataset_, measured_.decoding, outcome.id); !stored.pixels.empty())
      sample.picture = std::move(stored);
    return sample;
  }

  std::vector<Index> worst(const Settings& rule) const {
    const auto most = static_cast<std::size_t>(rule.integer("n"));
    if (most == 0) return {};
    auto ranked = values(rule.text("metric"));
    if (ranked.empty() && size() > 0 && rule.text("metric") != "auto")
      log_warn(concat(rule.place_of("metric"),
                      "this net and set have no such value for single samples, so none is shown; detectors and nets "
                      "that write texts have errors, nets that classify have scores and losses"));
    const bool greatest = rule.text("mode") == "max";
    std::ranges::stable_sort(ranked,
                             [&](auto& a, auto& b) { return greatest ? a.value > b.value : a.value < b.value; });
    std::vector<Index> worst;
    for (auto& each : ranked)
      if (worst.size() < most) worst.push_back(each.index);
    return worst;
  }

 private:
  // A record of packed rows has none of its own.
  void add_row(SampleResult& sample) const try {
    ReadBuffer buffer;
    if (packed_) return;
    const Record record = dataset_.read(sample.id, buffer);
    take_fields(sample, with_recordings(record, show_record(*data_.sampler, record)));
  } catch (const SampleError&) {  // it was replaced in the test, too
  }

  const DetectionOutcome* objects() const { return measured_.objects ? &*measured_.objects : nullptr; }

  std::vector<Ranked> values(const std::string& by) const {
    const bool of_boxes = by == "false_negatives" || by == "false_positives", any = by == "auto" || by == "errors";
    if (!any && of_boxes != (objects() != nullptr)) return {};
    if (objects()) return errors(by != "false_positives", by != "false_negatives");
    return by == "errors" && measured_.transcripts.empty() ? std::vector<Ranked>() : values_of_rows(by);
  }

  std::vector<Ranked> values_of_rows(const std::string& by) const {
    const bool of_texts = !measured_.transcripts.empty() && (by == "auto" || by == "errors");
    std::vector<Ranked> all;
    for (Index i = 0; i < measured_.samples.size(); ++i) {
      const SampleOutcome& sample = measured_.samples[i];
      if (of_texts && !measured_.transcripts[i]) continue;
      const double value = of_texts        ? static_cast<double>(measured_.transcripts[i]->words.edits)
                           : by == "score" ? sample.score
                                           : sample.loss;
      if (!sample.substitute && !std::isnan(value)) all.push_back({value, i});
    }
    return all;
  }

  std::vector<Ranked> errors(bool negatives, bool positives) const {
    const auto pictures = by_picture(objects()->truth, objects()->found);
    std::vector<Ranked> all;
    for (Index i = 0; i < objects()->image_results.size(); ++i) {
      const auto picture = pictures.find(objects()->truth.images[i]);
      const DetectionErrors errors = picture == pictures.end() ? DetectionErrors() : errors_in(picture->second);
      all.push_back(
          {static_cast<double>((negatives ? errors.false_negatives : 0) + (positives ? errors.false_positives : 0)),
           i});
    }
    return all;
  }

  const Measurement& measured_;
  const DataParts& data_;
  const Dataset& dataset_;
  const bool packed_;
};

}  // namespace

std::vector<Settings> worst_rules(const Config& config) {
  const auto& rules = config.list("test.worst");
  return rules.empty() ? std::vector{Settings("test.worst", core_keys("test.worst"))} : rules;
}

// Lists the samples to show. The first rule's list is called `worst`, as that of [[best]] is `best`.
ShownSamples samples_to_show(const Measurement& measured, const DataParts& data, const std::vector<Settings>& rules,
                             std::size_t pictures, const std::string& set) {
  const TestedSamples shown(measured, data);
  ShownSamples samples{.set = set, .kind = measured.kind, .classes = data.dataset->classes()};
  for (Index i = 0; i < std::min(pictures, shown.size()); ++i)
    if (SampleResult sample = shown.sample(i); !sample.picture.pixels.empty() || !sample.fields.empty())
      samples.samples.push_back(std::move(sample));
  for (auto& rule : rules) {
    std::vector<SampleResult> worst;
    for (const Index i : shown.worst(rule)) worst.push_back(shown.sample(i));
    if (&rule == &rules.front())
      samples.worst = std::move(worst);
    else
      samples.worst_by.emplace_back(rule.text("metric") + (rule.text("mode") == "min" ? "-min" : ""), std::move(worst));
  }
  return samples;
}

}  // namespace flowtrain
