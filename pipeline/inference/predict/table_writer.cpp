#include <algorithm>
#include <cmath>
#include <map>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/inference/predict/prediction_writer.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// Longer names are not cut; they exceed their column.
constexpr std::size_t widest_name = 60, widest_class = 20;

// Returns the code points of a UTF-8 text, each of which counts as one column.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string text, std::size_t width) {
  text.append(width - std::min(width, columns_of(text)), ' ');
  return text;
}

class TableWriter final : public PredictionWriter {
 public:
  TableWriter(const PredictionFormat& format, std::size_t name_width)
      : format_(format), name_width_(std::min(name_width, widest_name)), out_("-") {
    for (auto& name : format.classes) class_width_ = std::max(class_width_, columns_of(name));
    class_width_ = std::min(class_width_, widest_class);
  }

  void write(const Prediction& prediction) override {
    if (!prediction.damage.empty()) return;
    const std::string cells = format_.detects  ? counts(prediction)
                              : format_.tokens ? of_tokens(prediction) + inputs(prediction)
                                               : scores(prediction) + inputs(prediction);
    out_.write(concat(padded(printable(without_secrets(prediction.name)), name_width_), "  ", cells, "\n"));
  }

 private:
  std::string scores(const Prediction& prediction) const {
    if (prediction.text) return printable(*prediction.text);
    return join(prediction.top, "  ", [this](auto& each) {
      return padded(printable(class_name(format_.classes, each.label)), class_width_) + printed(" %.4f", each.score);
    });
  }

  static std::string of_tokens(const Prediction& prediction) {
    const std::string own = printable(prediction.shown);
    if (std::isnan(prediction.perplexity)) return own;
    return concat(printed("perplexity %.4g", prediction.perplexity), "  ", own);
  }

  std::string inputs(const Prediction& prediction) const {
    std::string text;
    for (auto& [name, shown] : prediction.input)
      if (!shown.text.empty()) text += concat("  ", name, ": ", shown.text);
    return text;
  }

  std::string counts(const Prediction& prediction) const {
    std::map<int, std::size_t> counts;
    for (auto& box : prediction.found) ++counts[box.category];
    if (counts.empty()) return "nothing";
    return join(counts, ", ", [this](auto& each) {
      return concat(each.second, " ", printable(class_name(format_.classes, each.first)));
    });
  }

  const PredictionFormat format_;
  const std::size_t name_width_;
  std::size_t class_width_ = 0;
  OutputFile out_;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_table_writer(const PredictionFormat& format, std::size_t name_width) {
  return std::make_unique<TableWriter>(format, name_width);
}

}  // namespace flowtrain
