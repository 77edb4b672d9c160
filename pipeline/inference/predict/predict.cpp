#include "pipeline/inference/predict/predict.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/inference/predict/boxes_folder.h"
#include "pipeline/inference/predict/folder_watch.h"
#include "pipeline/inference/predict/prediction_writer.h"
#include "pipeline/inference/predict/requests.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// The time between two looks at a watched folder.
constexpr std::chrono::milliseconds watch_period{200};

std::vector<Input> inputs_of(const std::vector<std::string>& words, const RecordFinder& records) {
  InputFinder finder(&records);
  std::vector<Input> inputs;
  const auto add = [&](const std::string& word) {
    for (auto& input : finder.find(word)) inputs.push_back(std::move(input));
  };
  for (auto& word : words) {
    if (word != "-") {
      add(word);
      continue;
    }
    LineReader lines(STDIN_FILENO, LineReader::Holds::list);
    constexpr std::size_t at_once = 1000;
    for (auto some = lines.next(at_once); !some.empty(); some = lines.next(at_once))
      for (auto& line : some) add(line);
  }
  return inputs;
}

std::string milliseconds(double seconds, std::uint64_t pictures) {
  return printed("%.3g ms", 1000 * seconds / static_cast<double>(pictures));
}

std::string speed(const PredictionTimes& times, const std::string& what) {
  return concat(milliseconds(times.seconds, times.pictures), " a ", what, " (",
                printed("%.4g", static_cast<double>(times.pictures) / times.seconds), " ", what, "s/s), of which ",
                milliseconds(times.net_seconds, times.pictures), " in the net");
}

// Returns "364 pictures in 1.48 s; after the first 32: 3.73 ms a picture (268.4 pictures/s), of which 3.71 ms …".
std::string describe_times(const PredictionTimes& warm_up, const PredictionTimes& warm, const std::string& what) {
  const std::uint64_t pictures = warm_up.pictures + warm.pictures;
  const std::string all = concat(format_count(pictures), " ", what, pictures == 1 ? "" : "s", " in ",
                                 printed("%.3g s", warm_up.seconds + warm.seconds));
  if (warm.pictures == 0) return concat(all, ", warm-up included: ", speed(warm_up, what));
  return concat(all, "; after the first ", format_count(warm_up.pictures), ": ", speed(warm, what));
}

class PredictRun {
 public:
  PredictRun(const PredictRequest& request, const MakeLearner& make)
      : request_(request), predictor_(request.config, request.snapshot, request.limits, make) {
    if (request.logits && predictor_.predicts_tokens())
      throw UserError(ExitCode::usage, "--logits: the net has logits for each token, which are too many to be written",
                      "leave it out: --jsonl has the class of each token with its score");
    if (!request.pictures.empty()) boxes_.emplace(request.pictures);
  }

  ExitCode run() {
    if (request_.inputs.empty() && request_.watch.empty())
      answer();
    else
      predict_inputs();
    if (predictor_.warm_up().pictures > 0)
      log_info(
          describe_times(predictor_.warm_up(), predictor_.warm(), predictor_.records().any() ? "sample" : "picture"));
    if (damaged_ == 0) return ExitCode::ok;
    log_warn(concat(format_count(damaged_), " of ", format_count(seen_), " inputs could not be used"));
    return ExitCode::data;
  }

 private:
  void answer() {
    OutputFile out(request_.jsonl);
    answer_requests(STDIN_FILENO, predictor_, format_, out, [this](Prediction& prediction) { note(prediction); });
  }

  void predict_inputs() {
    if (!request_.watch.empty() && predictor_.records().needs_rows())
      throw UserError(
          ExitCode::usage,
          concat("--watch: the net learnt from ", predictor_.records().names(), ", so no single file is an input"),
          "give tables of records (.jsonl, .csv)");
    std::optional<FolderWatch> watch;  // made before the inputs are listed, so that no file is lost in between
    if (!request_.watch.empty()) watch.emplace(request_.watch, predictor_.records().files());
    const auto inputs = inputs_of(request_.inputs, predictor_.records());
    if (inputs.empty() && !watch) throw UserError(ExitCode::data, "there are no inputs: the list is empty");
    open_writers(inputs);
    predict_all(inputs);
    if (!watch) return;
    log_info(
        concat("watching ", request_.watch, " for ", predictor_.records().files().many, "; Ctrl-C ends the program"));
    request_.interrupt->defer();  // a signal must not skip the summary at the end
    for (; !request_.interrupt->requested(); std::this_thread::sleep_for(watch_period)) predict_all(watch->look());
  }

  void open_writers(const std::vector<Input>& inputs) {
    if (!request_.csv.empty()) writers_.push_back(make_csv_writer(format_, request_.csv));
    if (!request_.jsonl.empty()) writers_.push_back(make_json_writer(format_, request_.jsonl));
    if (!writers_.empty()) return;
    std::size_t width = 0;
    for (auto& input : inputs) width = std::max(width, input.name.size());
    writers_.push_back(make_table_writer(format_, width));
  }

  void predict_all(const std::vector<Input>& inputs) {
    predictor_.run(inputs, [this](Prediction& prediction) {
      note(prediction);
      for (auto& writer : writers_) writer->write(prediction);
    });
  }

  void note(Prediction& prediction) {
    ++seen_;
    if (!prediction.damage.empty()) {
      ++damaged_;
      const auto name = prediction.name.empty() ? concat("request ", seen_) : prediction.name;  // a row has no name
      const bool names_itself = prediction.damage.starts_with(name + ": ");
      log_warn(printable(names_itself ? prediction.damage : concat(name, ": ", prediction.damage)));
    } else if (boxes_) {
      prediction.picture = boxes_->write(prediction);
    }
  }

  const PredictRequest& request_;
  Predictor predictor_;
  const PredictionFormat format_{predictor_.classes(), predictor_.detects(), predictor_.writes(),
                                 predictor_.predicts_tokens(), request_.logits};
  std::optional<BoxesFolder> boxes_;
  std::vector<std::unique_ptr<PredictionWriter>> writers_;
  std::uint64_t seen_ = 0, damaged_ = 0;
};

}  // namespace

ExitCode predict(const PredictRequest& request, const MakeLearner& make) {
  if (request.csv == "-" && request.jsonl == "-")
    throw UserError(ExitCode::usage, "--csv and --jsonl: both would go to standard output",
                    "name a file for one of them");
  return PredictRun(request, make).run();
}

}  // namespace flowtrain
