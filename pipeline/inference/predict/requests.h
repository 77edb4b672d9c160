#pragma once
// Answers requests of scripts on standard input and output: `flowtrain predict --jsonl` without inputs.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/inference/predict/input.h"
#include "pipeline/inference/predict/prediction_writer.h"
#include "pipeline/inference/predict/predictor.h"

namespace flowtrain {

/// Reads the lines of a descriptor as they arrive.
class LineReader {
 public:
  /// The kind of input: of a list, a first line that is no text is an error (see clean_line); among requests it is one.
  enum class Holds : std::uint8_t { list, requests };

  LineReader(int descriptor, Holds holds) : descriptor_(descriptor), holds_(holds) {}
  /// Waits for a line, and returns it with those that have arrived behind it, `most` at most; none at the end. The last
  /// one may lack its newline. Blank lines are left out, and marks (see without_marks). Throws UserError(data) where
  /// reading fails.
  std::vector<std::string> next(std::size_t most);

 private:
  bool read(bool waits);

  const int descriptor_;
  const Holds holds_;
  std::string text_;          // read, but not yet returned
  std::uint64_t number_ = 0;  // the number of the last returned line
  bool over_ = false;
};

/// A request: a line {"file": "a.jpg"}, or the parts of a record, or with an "id" of any kind, which the answer
/// repeats.
struct PredictRequestLine {
  Input input;
  std::optional<ordered_json> id = {};  ///< empty where none was given
};

/// Returns the "id" of a request, of any kind; nothing if it has none.
std::optional<ordered_json> id_of(const ordered_json& request);
/// Returns why an id cannot be repeated in the answer; empty if it can be.
std::string problem_of(const std::optional<ordered_json>& id);

/// Returns the reason why a line, which parse_json() did not read as an object, is no request.
std::string no_object(const std::string& line);

/// Parses a line. It never fails: a line that is not a request becomes an input with a `problem`.
PredictRequestLine parse_request(const std::string& line, InputFinder& finder);

/// Answers each request line of the descriptor with one line of to_json(), after its "id", in their order, until the
/// input ends. Waiting requests are predicted together. `seen` is called with each prediction before it is written.
void answer_requests(int descriptor, Predictor& predictor, const PredictionFormat& format, OutputFile& out,
                     const std::function<void(Prediction&)>& seen);

}  // namespace flowtrain
