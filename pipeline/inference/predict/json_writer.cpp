#include <cmath>

#include "pipeline/inference/predict/prediction_writer.h"

namespace flowtrain {

namespace {

class JsonWriter final : public PredictionWriter {
 public:
  JsonWriter(const PredictionFormat& format, const std::string& path) : format_(format), out_(path) {}
  void write(const Prediction& prediction) override { out_.write(json_line(to_json(prediction, format_)) + "\n"); }

 private:
  const PredictionFormat format_;
  OutputFile out_;
};

ordered_json class_entry(const PredictionFormat& format, std::int64_t label) {
  return {{"class", class_name(format.classes, label)}, {"label", label}};
}

}  // namespace

JsonObject to_json(const Prediction& prediction, const PredictionFormat& format) {
  JsonObject object{{"file", prediction.name}};
  if (!prediction.damage.empty()) {
    object["error"] = prediction.damage;
    return object;
  }
  for (auto& [name, shown] : prediction.input)
    if (!shown.text.empty()) object["input"][name] = shown.text;
  if (format.detects) {
    ordered_json boxes = ordered_json::array();
    for (auto& box : prediction.found) {
      ordered_json entry = class_entry(format, box.category);
      entry.update({{"score", box.score}, {"x1", box.x0}, {"y1", box.y0}, {"x2", box.x1}, {"y2", box.y1}});
      boxes.push_back(std::move(entry));
    }
    object["boxes"] = std::move(boxes);
    if (!prediction.picture.empty()) object["picture"] = prediction.picture;
    return object;
  }
  if (prediction.text) {
    object["text"] = *prediction.text;
    if (!prediction.picture.empty()) object["picture"] = prediction.picture;
    return object;
  }
  if (format.tokens) {
    object["shown"] = prediction.shown;
    if (!std::isnan(prediction.perplexity)) object["perplexity"] = prediction.perplexity;
    object["tokens"] = ordered_json::array();
    for (auto& token : prediction.tokens) {
      ordered_json entry{{"text", token.text}, {"class", token.name}, {"label", token.label}, {"score", token.score}};
      if (!std::isnan(token.probability)) entry["probability"] = token.probability;
      object["tokens"].push_back(std::move(entry));
    }
    return object;
  }
  ordered_json top = ordered_json::array();
  for (auto& [label, score] : prediction.top) {
    ordered_json entry = class_entry(format, label);
    entry["score"] = score;
    top.push_back(std::move(entry));
  }
  object["top"] = std::move(top);
  if (!prediction.picture.empty()) object["picture"] = prediction.picture;
  if (format.logits) object["logits"] = std::vector<float>(prediction.logits.begin(), prediction.logits.end());
  return object;
}

std::unique_ptr<PredictionWriter> make_json_writer(const PredictionFormat& format, const std::string& path) {
  return std::make_unique<JsonWriter>(format, path);
}

}  // namespace flowtrain
