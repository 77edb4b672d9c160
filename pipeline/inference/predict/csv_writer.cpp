#include <cmath>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/inference/predict/prediction_writer.h"
#include "sampling/core/csv.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

std::string cell(const std::string& text) {
  std::string quoted;
  append_csv_cell(quoted, without_secrets(text));
  return quoted;
}

class CsvWriter final : public PredictionWriter {
 public:
  CsvWriter(const PredictionFormat& format, const std::string& path) : format_(format), out_(path) {
    out_.write(format_.detects  ? "file,class,label,score,x1,y1,x2,y2,error\n"
               : format_.writes ? "file,text,error\n"
               : format_.tokens ? "file,place,text,class,label,score,probability,error\n"
                                : "file,rank,class,label,score,error\n");
  }

  void write(const Prediction& prediction) override {
    const std::string name = cell(prediction.name), empty = format_.detects  ? ",,,,,,,,"
                                                            : format_.writes ? ",,"
                                                            : format_.tokens ? ",,,,,,,"
                                                                             : ",,,,,";
    if (!prediction.damage.empty()) return out_.write(concat(name, empty, cell(prediction.damage), "\n"));
    if (prediction.text) return out_.write(concat(name, ",", cell(*prediction.text), ",\n"));
    std::string lines;
    for (std::size_t i = 0; i < prediction.top.size(); ++i) {
      const auto& [label, score] = prediction.top[i];
      lines += concat(name, ",", i + 1, ",", class_cells(label), ",", printed("%.6g", score), ",\n");
    }
    for (std::size_t i = 0; i < prediction.tokens.size(); ++i) {
      const auto& token = prediction.tokens[i];
      lines += concat(name, ",", i + 1, ",", cell(token.text), ",", cell(token.name), ",", token.label,
                      printed(",%.6g,", token.score),
                      std::isnan(token.probability) ? "" : printed("%.6g", token.probability), ",\n");
    }
    for (auto& box : prediction.found)
      lines += concat(name, ",", class_cells(box.category),
                      printed(",%.6g,%.6g,%.6g,%.6g,%.6g,\n", box.score, box.x0, box.y0, box.x1, box.y1));
    out_.write(lines.empty() ? concat(name, empty, "\n") : lines);
  }

 private:
  std::string class_cells(std::int64_t label) const {
    return concat(cell(class_name(format_.classes, label)), ",", label);
  }

  const PredictionFormat format_;
  OutputFile out_;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_csv_writer(const PredictionFormat& format, const std::string& path) {
  return std::make_unique<CsvWriter>(format, path);
}

}  // namespace flowtrain
