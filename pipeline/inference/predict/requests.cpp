#include "pipeline/inference/predict/requests.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/inference/predict/given_records.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/datasets/tables/segments.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {

namespace {

// The limit of a request line; parsed JSON takes many times its size.
constexpr std::size_t longest_request = 1 << 16;
// The most requests that are predicted together.
constexpr std::size_t most_at_once = 256;

Input no_request(const std::string& problem, const InputFinder& finder) {
  const std::string example = finder.records() ? finder.records()->example() : R"({"file": "a.jpg", "id": 1})";
  return {.name = "", .problem = concat(problem, "; a request is a line as ", example)};
}

// Returns the first key that has a bound of a segment; empty: none has one.
std::string segment_key(const ordered_json& request, const InputFinder& finder) {
  const Settings table = finder.records() ? finder.records()->table_settings() : usual_table_settings();
  for (auto& [key, value] : request.items())
    if (!value.is_null() && may_bound_segments(key, table)) return key;
  return {};
}

}  // namespace

// Returns false if no bytes have arrived, or the input has ended.
bool LineReader::read(bool waits) {
  pollfd ready{descriptor_, POLLIN, 0};
  if (over_ || (!waits && ::poll(&ready, 1, 0) <= 0)) return false;
  char piece[1 << 16];
  const ssize_t got = TEMP_FAILURE_RETRY(::read(descriptor_, piece, sizeof piece));
  if (got < 0) throw UserError(ExitCode::data, std::string("cannot read standard input: ") + std::strerror(errno));
  over_ = got == 0;
  text_.append(piece, static_cast<std::size_t>(got));
  return !over_;
}

std::vector<std::string> LineReader::next(std::size_t most) {
  std::vector<std::string> lines;
  const auto take = [&](std::string_view text) {
    ++number_;
    const auto line =
        holds_ == Holds::list ? clean_line(text, number_, "standard input") : without_marks(text, number_);
    if (!trimmed(line).empty()) lines.emplace_back(line);
  };
  for (bool over = false; lines.empty() && !over;) {
    while (text_.find('\n') == text_.npos && read(true)) {
    }
    while (text_.size() < longest_request && read(false)) {
    }
    std::size_t begin = 0;
    for (std::size_t end; lines.size() < most && (end = text_.find('\n', begin)) != text_.npos; begin = end + 1)
      take(std::string_view(text_).substr(begin, end - begin));
    over = begin == 0;
    if (over && !text_.empty()) take(std::exchange(text_, {}));
    text_.erase(0, begin);
  }
  return lines;
}

std::optional<ordered_json> id_of(const ordered_json& request) {
  const auto id = request.find("id");
  return id == request.end() ? std::nullopt : std::optional<ordered_json>(*id);
}

std::string problem_of(const std::optional<ordered_json>& id) {
  constexpr double exact = 0x1p53;  // Whole numbers beyond the 64 bits of JSON's reader become doubles.
  const auto is_rounded = [](const auto& self, const ordered_json& value) -> bool {
    if (value.is_structured()) return std::ranges::any_of(value, [&](auto& each) { return self(self, each); });
    return value.is_number_float() && std::abs(value.template get<double>()) >= exact;
  };
  if (!id || !is_rounded(is_rounded, *id)) return {};
  return "its id has more digits than a number keeps: write it as a text";
}

std::string no_object(const std::string& line) {
  return concat("the line is no JSON object",
                is_nested_too_deep(line) ? concat(": it is nested deeper than ", deepest_json) : "");
}

PredictRequestLine parse_request(const std::string& line, InputFinder& finder) {
  if (line.size() > longest_request) return {no_request("the line is longer than 64 KiB", finder)};
  const ordered_json request = parse_json(line);
  if (!request.is_object()) return {no_request(no_object(line), finder)};
  const auto id = id_of(request);
  if (const auto problem = problem_of(id); !problem.empty()) return {no_request(problem, finder)};
  const RecordFinder* const records = finder.records();
  if (records)
    if (auto record = records->row(line)) return {std::move(*record), id};
  const auto file = request.find("file");
  if (file == request.end() || !file->is_string()) return {no_request("it has no \"file\" with a text", finder), id};
  if (const auto key = segment_key(request, finder); !key.empty())
    return {no_request(concat("a file is read whole, but the line has \"", key, R"("; a part of a recording is )",
                              R"({"audio": "a.wav", "begin": 1.5, "end": 4})"),
                       finder),
            id};
  if (records && records->needs_rows()) return {no_request("the net did not learn from single files", finder), id};
  return {finder.single(file->get<std::string>()), id};
}

void answer_requests(int descriptor, Predictor& predictor, const PredictionFormat& format, OutputFile& out,
                     const std::function<void(Prediction&)>& seen) {
  LineReader reader(descriptor, LineReader::Holds::requests);
  InputFinder finder(&predictor.records());
  for (auto lines = reader.next(most_at_once); !lines.empty(); lines = reader.next(most_at_once)) {
    std::vector<Input> inputs;
    std::vector<std::optional<ordered_json>> ids;
    for (auto& line : lines) {
      PredictRequestLine request = parse_request(line, finder);
      inputs.push_back(std::move(request.input));
      ids.push_back(std::move(request.id));
    }
    std::size_t answered = 0;
    predictor.run(inputs, [&](Prediction& prediction) {
      seen(prediction);
      JsonObject answer;
      if (ids[answered]) answer["id"] = std::move(*ids[answered]);
      ++answered;
      for (auto& [key, value] : to_json(prediction, format)) answer[key] = std::move(value);
      out.write(json_line(std::move(answer)) + "\n");
    });
  }
}

}  // namespace flowtrain
