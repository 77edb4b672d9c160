#include "pipeline/evaluation/worst_samples.h"

#include <algorithm>
#include <cmath>

#include "pipeline/evaluation/sample_pictures.h"
#include "pipeline/telemetry/log.h"

namespace flowtrain {

namespace {

// Where a sample stands in Measurement::samples, or a picture in DetectionOutcome::image_results.
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

class Shown {
 public:
  Shown(const Measurement& measured, const Dataset& dataset, const Settings& test)
      : measured_(measured), dataset_(dataset), test_(test) {}

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
    result.loss = outcome.loss, result.prediction = outcome.prediction, result.confidence = outcome.score;
    return {.id = outcome.id,
            .label = outcome.label,
            .result = result,
            .picture = stored_picture(dataset_, measured_.decoding, outcome.id)};
  }

  std::vector<Index> worst() const {
    const auto most = static_cast<std::size_t>(test_.integer("worst"));
    if (most == 0) return {};
    auto ranked = values();
    if (ranked.empty() && size() > 0 && test_.text("worst_by") != "auto")
      log_warn(test_
                   .error("worst_by", "this net and set give no such value of single samples: none is shown",
                          ExitCode::usage, "errors are those of detectors, scores and losses of nets that classify")
                   .what());
    const bool greatest = test_.text("worst_mode") == "max";
    std::ranges::stable_sort(ranked,
                             [&](auto& a, auto& b) { return greatest ? a.value > b.value : a.value < b.value; });
    std::vector<Index> worst;
    for (auto& each : ranked)
      if (worst.size() < most) worst.push_back(each.index);
    return worst;
  }

 private:
  const DetectionOutcome* objects() const { return measured_.objects ? &*measured_.objects : nullptr; }

  std::vector<Ranked> values() const {
    const std::string& by = test_.text("worst_by");
    if (!objects()) return by == "errors" ? std::vector<Ranked>() : values_of_rows(by == "score");
    return by == "auto" || by == "errors" ? errors() : std::vector<Ranked>();
  }

  std::vector<Ranked> values_of_rows(bool by_score) const {
    std::vector<Ranked> all;
    for (Index i = 0; i < measured_.samples.size(); ++i) {
      const SampleOutcome& sample = measured_.samples[i];
      const double value = by_score ? sample.score : sample.loss;
      if (!sample.substitute && !std::isnan(value)) all.push_back({value, i});
    }
    return all;
  }

  std::vector<Ranked> errors() const {
    const auto pictures = by_picture(objects()->truth, objects()->found);
    std::vector<Ranked> all;
    for (Index i = 0; i < objects()->image_results.size(); ++i) {
      const auto picture = pictures.find(objects()->truth.images[i]);
      const DetectionErrors errors = picture == pictures.end() ? DetectionErrors() : errors_in(picture->second);
      all.push_back({static_cast<double>(errors.missed + errors.wrong), i});
    }
    return all;
  }

  const Measurement& measured_;
  const Dataset& dataset_;
  const Settings& test_;
};

}  // namespace

ShownSamples samples_to_show(const Measurement& measured, const Dataset& dataset, const Settings& test,
                             std::size_t pictures, const std::string& set) {
  const Shown shown(measured, dataset, test);
  ShownSamples samples{.set = set, .kind = measured.kind, .classes = dataset.classes()};
  const auto add = [&](std::vector<SampleResult>& to, Index index) {
    SampleResult sample = shown.sample(index);
    if (!sample.picture.pixels.empty()) to.push_back(std::move(sample));
  };
  for (Index i = 0; i < std::min(pictures, shown.size()); ++i) add(samples.samples, i);
  for (const Index i : shown.worst()) add(samples.worst, i);
  return samples;
}

}  // namespace flowtrain
